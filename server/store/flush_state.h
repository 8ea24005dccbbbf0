// flush_all: a sequence number that every segment carries. Items in segments of an older number are
// gone.
//
// A delayed flush happens at the first operation whose clock says it is due, before that operation
// does anything.
//
// Threads: any. An operation loads the epoch while it holds its partition's lock, so that it never
// stores into an older epoch than what it replaces. Lock order: innermost.
#pragma once

#include <atomic>
#include <cstdint>

#include "common/base/mutex.h"

namespace podcache::store {

class FlushState {
 public:
  static constexpr std::int64_t kNotDue = INT64_MAX;

  std::uint32_t epoch() const noexcept { return epoch_.load(std::memory_order_acquire); }
  // True while items of an older epoch may still be found: then readers compare epochs.
  bool sweep_pending() const noexcept { return sweep_pending_.load(std::memory_order_acquire); }

  void FireIfDue(std::int64_t now_seconds) noexcept {
    if (now_seconds >= due_.load(std::memory_order_relaxed)) Fire(now_seconds);
  }
  // All that outlives the process; times are absolute.
  struct Saved {
    std::uint32_t epoch = 1;
    std::int64_t due_seconds = kNotDue;
    bool sweep_pending = false;
  };
  Saved Save() noexcept {
    MutexLock lock(mutex_);
    return {epoch_.load(), due_.load(), sweep_pending_.load()};
  }
  // Before anybody uses it.
  void Restore(const Saved& saved) noexcept {
    MutexLock lock(mutex_);
    epoch_.store(saved.epoch);
    due_.store(saved.due_seconds);
    sweep_pending_.store(saved.sweep_pending);
  }
  // Replaces a flush that is still to come.
  void Schedule(std::int64_t at_seconds, std::int64_t now_seconds) noexcept {
    MutexLock lock(mutex_);
    due_.store(kNotDue, std::memory_order_relaxed);
    if (at_seconds <= now_seconds) {
      NextEpochLocked();
    } else {
      due_.store(at_seconds, std::memory_order_relaxed);
    }
  }
  // Nothing older than `epoch` is left.
  void SweepDone(std::uint32_t epoch) noexcept {
    MutexLock lock(mutex_);
    if (epoch == epoch_.load(std::memory_order_relaxed))
      sweep_pending_.store(false, std::memory_order_release);
  }

 private:
  void Fire(std::int64_t now_seconds) noexcept {
    MutexLock lock(mutex_);
    if (now_seconds < due_.load(std::memory_order_relaxed)) return;
    due_.store(kNotDue, std::memory_order_relaxed);
    NextEpochLocked();
  }
  // The release makes the pending sweep visible to everybody who sees the new epoch.
  void NextEpochLocked() noexcept REQUIRES(mutex_) {
    sweep_pending_.store(true, std::memory_order_relaxed);
    epoch_.fetch_add(1, std::memory_order_release);
  }

  std::atomic<std::uint32_t> epoch_{1};
  std::atomic<std::int64_t> due_{kNotDue};
  std::atomic<bool> sweep_pending_{false};
  Mutex mutex_;
};

}  // namespace podcache::store
