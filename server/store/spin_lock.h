// A lock for sections of well under a microsecond, and a version for those who read without it: a
// partition of the index has one.
//
// The version is odd while the lock is held and different after every section. A reader takes the
// version, reads, and then asks whether it is Unchanged: only then what was read belongs together.
// What may change under a reader is read and written by atomic operations.
//
// Threads: any. Not recursive, not fair. Gives the CPU away after a short spin, so it also works on
// one core.
#pragma once

#include <atomic>
#include <cstdint>
#include <thread>

#include "common/base/thread_annotations.h"

#if defined(__SANITIZE_THREAD__)
#define PODCACHE_THREAD_SANITIZER 1
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define PODCACHE_THREAD_SANITIZER 1
#endif
#endif

namespace podcache::store {

// Between tries of something that others will make possible soon.
class Backoff {
 public:
  void Wait() noexcept {
    if (spins_ < kSpins) {
      ++spins_;
      Pause();
    } else {
      std::this_thread::yield();
    }
  }

 private:
  static constexpr int kSpins = 64;
  static void Pause() noexcept {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("isb" ::: "memory");
#endif
  }

  int spins_ = 0;
};

class CAPABILITY("mutex") SpinLock {
 public:
  using Version = std::uint64_t;

  SpinLock() = default;
  SpinLock(const SpinLock&) = delete;
  SpinLock& operator=(const SpinLock&) = delete;

  void Lock() noexcept ACQUIRE() {
    if (!TryLock()) LockSlow();
      // What is written now is not seen before the version is odd.
#ifndef PODCACHE_THREAD_SANITIZER  // It knows no fences; there is none to be had on its machines.
    std::atomic_thread_fence(std::memory_order_release);
#endif
  }
  void Unlock() noexcept RELEASE() {
    version_.store(version_.load(std::memory_order_relaxed) + 1, std::memory_order_release);
  }

  // Sequentially consistent, as Lock is: epoch.h needs that.
  Version version() const noexcept { return version_.load(); }
  static bool IsHeld(Version version) noexcept { return version % 2 != 0; }
  // Whether nobody has held the lock since it had this version, which is that of a free lock.
  bool Unchanged(Version version) noexcept {
#ifdef PODCACHE_THREAD_SANITIZER
    return version_.fetch_add(0, std::memory_order_acq_rel) == version;
#else
    std::atomic_thread_fence(std::memory_order_acquire);
    return version_.load(std::memory_order_relaxed) == version;
#endif
  }

 private:
  bool TryLock() noexcept {
    Version version = version_.load(std::memory_order_relaxed);
    return !IsHeld(version) && version_.compare_exchange_strong(version, version + 1);
  }
  void LockSlow() noexcept {
    for (Backoff backoff; !TryLock();) backoff.Wait();
  }

  std::atomic<Version> version_{0};
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
