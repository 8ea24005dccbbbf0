// Durations from a nanosecond to an hour in buckets whose width is below 1/128 of their value
// (high dynamic range): any percentile is right to better than 0.8 %, whatever the spread.
//
// Values up to 256 have a bucket each. Above, every doubling is divided into 128 buckets.
//
// Threads: one owner; merge what several have recorded.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace podcache::bench {

class Histogram {
 public:
  static constexpr std::uint64_t kMaxNs = std::uint64_t{3600} * 1'000'000'000;

  Histogram();

  // Longer ones count as kMaxNs.
  void Record(std::uint64_t ns, std::uint64_t count = 1) noexcept;
  void Merge(const Histogram& other) noexcept;

  std::uint64_t count() const noexcept { return count_; }
  std::uint64_t max_ns() const noexcept { return max_ns_; }
  double MeanNs() const noexcept;
  // The highest value of the bucket in which the smallest `percentile` percent of all values end; 0
  // if there is none.
  std::uint64_t PercentileNs(double percentile) const noexcept;

  // The text form that HdrHistogram's tools read and plot: value in microseconds, percentile, count
  // so far, 1 / (1 − percentile).
  std::string PercentileText() const;

  static std::size_t BucketOf(std::uint64_t ns) noexcept;
  static std::uint64_t HighestOf(std::size_t bucket) noexcept;

 private:
  std::vector<std::uint64_t> buckets_;
  std::uint64_t count_ = 0;
  std::uint64_t max_ns_ = 0;
  double sum_ns_ = 0;
};

}  // namespace podcache::bench
