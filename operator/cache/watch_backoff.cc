#include "operator/cache/watch_backoff.h"

#include <algorithm>

namespace podcache::kube {

std::chrono::nanoseconds WatchBackoff::Next() {
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  if (retry_at_ && now - *retry_at_ >= kHealthy) base_ = kFirst;
  // Up to half as much again, within the bounds: reflectors that lost the server together do not
  // come back together.
  const std::chrono::nanoseconds most = std::min<std::chrono::nanoseconds>(base_ * 3 / 2, kMax);
  const std::chrono::nanoseconds least = most * 2 / 3;
  std::uniform_int_distribution<std::int64_t> jitter(least.count(), most.count());
  const std::chrono::nanoseconds wait(jitter(random_));
  base_ = std::min<std::chrono::nanoseconds>(base_ * 2, kMax);
  retry_at_ = now + wait;
  return wait;
}

}  // namespace podcache::kube
