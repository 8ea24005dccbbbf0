#include "operator/queue/rate_limiter.h"

#include <algorithm>

namespace podcache::kube {

std::chrono::nanoseconds RateLimiter::KeyDelay(const std::string& key) {
  const int failures = failures_[key]++;
  std::chrono::nanoseconds delay = options_.first;
  for (int i = 0; i < failures && delay < options_.max; ++i) delay *= 2;
  return std::min(delay, options_.max);
}

std::chrono::nanoseconds RateLimiter::BucketDelay(std::chrono::nanoseconds now) {
  const std::chrono::nanoseconds refill(
      static_cast<std::int64_t>(1e9 / options_.bucket_per_second));
  full_at_ = std::max(full_at_, now) + refill;
  // The bucket holds `burst` refills: only what is owed beyond them is waited for.
  return std::max(full_at_ - now - refill * options_.bucket_burst, std::chrono::nanoseconds(0));
}

std::chrono::nanoseconds RateLimiter::When(const std::string& key, std::chrono::nanoseconds now) {
  return std::max(KeyDelay(key), BucketDelay(now));
}

int RateLimiter::Failures(const std::string& key) const {
  const auto found = failures_.find(key);
  return found == failures_.end() ? 0 : found->second;
}

}  // namespace podcache::kube
