// How long to wait before watching again: 0.8 s doubling to 30 s with jitter, back to the start
// after two healthy minutes.
//
// Threads: one. Units: nanoseconds.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <random>

#include "common/base/clock.h"

namespace podcache::kube {

class WatchBackoff {
 public:
  static constexpr std::chrono::milliseconds kFirst{800};
  static constexpr std::chrono::seconds kMax{30};
  static constexpr std::chrono::minutes kHealthy{2};

  WatchBackoff(const Clock& clock, std::mt19937_64& random) : clock_(clock), random_(random) {}

  // The wait after a failure, at least kFirst and at most kMax. Two minutes without a call start
  // over.
  std::chrono::nanoseconds Next();

 private:
  const Clock& clock_;
  std::mt19937_64& random_;
  std::chrono::nanoseconds base_ = kFirst;
  std::optional<std::chrono::nanoseconds> retry_at_;  // When the last wait ended.
};

}  // namespace podcache::kube
