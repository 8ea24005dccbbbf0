// How long a failed key waits: 5 ms doubling to 1000 s for the key itself, and never sooner than an
// overall bucket of 10 a second with a burst of 100 allows.
//
// Threads: one at a time (the queue's lock). Units: nanoseconds on the monotonic clock.
// Source: controller-runtime's default rate limiter.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <unordered_map>

namespace podcache::kube {

struct RateLimiterOptions {
  std::chrono::nanoseconds first = std::chrono::milliseconds(5);
  std::chrono::nanoseconds max = std::chrono::seconds(1000);
  double bucket_per_second = 10;
  int bucket_burst = 100;
};

class RateLimiter {
 public:
  explicit RateLimiter(RateLimiterOptions options = {}) : options_(options) {}

  // Counts a failure of the key and says how long it waits from `now` on.
  std::chrono::nanoseconds When(const std::string& key, std::chrono::nanoseconds now);
  void Forget(const std::string& key) { failures_.erase(key); }
  int Failures(const std::string& key) const;

 private:
  std::chrono::nanoseconds KeyDelay(const std::string& key);
  std::chrono::nanoseconds BucketDelay(std::chrono::nanoseconds now);

  RateLimiterOptions options_;
  std::unordered_map<std::string, int> failures_;
  // When the bucket will be full again; in the past means full now.
  std::chrono::nanoseconds full_at_{0};
};

}  // namespace podcache::kube
