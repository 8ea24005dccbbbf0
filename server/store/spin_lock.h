// A lock of four bytes for sections of well under a microsecond: a partition of the index has one.
//
// Threads: any. Not recursive, not fair. Gives the CPU away after a short spin, so it also works on
// one core.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "common/base/thread_annotations.h"

namespace podcache::store {

class CAPABILITY("mutex") SpinLock {
 public:
  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void Lock() noexcept ACQUIRE() {
    if (held_.exchange(1, std::memory_order_acquire) != 0) LockSlow();
  }
  void Unlock() noexcept RELEASE() { held_.store(0, std::memory_order_release); }

 private:
  static constexpr int kSpins = 64;

  void LockSlow() noexcept {
    for (int spins = 0;; ++spins) {
      if (held_.load(std::memory_order_relaxed) == 0 &&
          held_.exchange(1, std::memory_order_acquire) == 0)
        return;
      if (spins < kSpins) {
        Pause();
      } else {
        std::this_thread::yield();
      }
    }
  }
  static void Pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  std::atomic<std::uint32_t> held_{0};
};

class SCOPED_CAPABILITY SpinLockHolder {
 public:
  explicit SpinLockHolder(SpinLock& lock) noexcept ACQUIRE(lock) : lock_(lock) { lock_.Lock(); }
  ~SpinLockHolder() RELEASE() { lock_.Unlock(); }
  SpinLockHolder(const SpinLockHolder&) = delete;
  SpinLockHolder& operator=(const SpinLockHolder&) = delete;

 private:
  SpinLock& lock_;
};

}  // namespace podcache::store
