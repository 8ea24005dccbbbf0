// The real time, but shifted or stood still on demand: for test builds that are told to by a client
// (debugtime).
//
// Threads: any. Only calendar time is changed; the monotonic clock goes on, so that nothing waits
// for ever.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

#include "common/base/clock.h"

namespace podcache {

class AdjustableClock final : public Clock {
 public:
  std::chrono::nanoseconds MonotonicNow() const override { return real_.MonotonicNow(); }
  std::chrono::nanoseconds WallNow() const override {
    const std::int64_t paused = paused_at_ns_.load();
    const std::int64_t base = paused != kRunning ? paused : real_.WallNow().count();
    return std::chrono::nanoseconds(base + shift_ns_.load());
  }

  void Shift(std::chrono::nanoseconds by) { shift_ns_.fetch_add(by.count()); }
  void Pause() {
    std::int64_t running = kRunning;
    paused_at_ns_.compare_exchange_strong(running, real_.WallNow().count());
  }
  // Goes on with the real time: what passed meanwhile is made up for.
  void Resume() { paused_at_ns_.store(kRunning); }

 private:
  static constexpr std::int64_t kRunning = INT64_MIN;

  const SystemClock real_{};
  std::atomic<std::int64_t> shift_ns_{0};
  std::atomic<std::int64_t> paused_at_ns_{kRunning};
};

}  // namespace podcache
