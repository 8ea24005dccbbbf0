// Time as a dependency: real in the programs, manual in tests.
//
// Threads: Clock may be read from any thread. ManualClock may be moved from any thread.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace podcache {

class Clock {
 public:
  virtual ~Clock() = default;
  // Never goes back; unrelated to the calendar.
  virtual std::chrono::nanoseconds MonotonicNow() const = 0;
  // Calendar time since the Unix epoch.
  virtual std::chrono::nanoseconds WallNow() const = 0;

  std::int64_t WallSeconds() const {
    return std::chrono::duration_cast<std::chrono::seconds>(WallNow()).count();
  }
};

class SystemClock final : public Clock {
 public:
  std::chrono::nanoseconds MonotonicNow() const override;
  std::chrono::nanoseconds WallNow() const override;
};

class ManualClock final : public Clock {
 public:
  explicit ManualClock(std::chrono::nanoseconds wall_start = std::chrono::seconds(1'700'000'000))
      : wall_start_(wall_start) {}
  std::chrono::nanoseconds MonotonicNow() const override {
    return std::chrono::nanoseconds(elapsed_ns_.load());
  }
  std::chrono::nanoseconds WallNow() const override { return wall_start_ + MonotonicNow(); }
  void Advance(std::chrono::nanoseconds by) { elapsed_ns_.fetch_add(by.count()); }

 private:
  std::chrono::nanoseconds wall_start_;
  std::atomic<std::int64_t> elapsed_ns_{0};
};

}  // namespace podcache
