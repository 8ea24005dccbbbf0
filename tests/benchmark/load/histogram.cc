#include "tests/benchmark/load/histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdio>

namespace podcache::bench {

namespace {
constexpr int kHalfBits = 7;
constexpr std::uint64_t kHalf = std::uint64_t{1} << kHalfBits;
// A line for every half of what is left above the last one, in this many steps.
constexpr int kStepsPerHalving = 5;
}  // namespace

Histogram::Histogram() : buckets_(BucketOf(kMaxNs) + 1) {}

std::size_t Histogram::BucketOf(std::uint64_t ns) noexcept {
  const int shift = std::max(static_cast<int>(std::bit_width(ns)) - (kHalfBits + 1), 0);
  return static_cast<std::size_t>(shift) * kHalf + static_cast<std::size_t>(ns >> shift);
}

std::uint64_t Histogram::HighestOf(std::size_t bucket) noexcept {
  if (bucket < 2 * kHalf) return bucket;
  const std::size_t shift = bucket / kHalf - 1;
  const std::uint64_t step = bucket % kHalf + kHalf;
  return ((step + 1) << shift) - 1;
}

void Histogram::Record(std::uint64_t ns, std::uint64_t count) noexcept {
  ns = std::min(ns, kMaxNs);
  buckets_[BucketOf(ns)] += count;
  count_ += count;
  max_ns_ = std::max(max_ns_, ns);
  sum_ns_ += static_cast<double>(ns) * static_cast<double>(count);
}

void Histogram::Merge(const Histogram& other) noexcept {
  for (std::size_t i = 0; i < buckets_.size(); ++i) buckets_[i] += other.buckets_[i];
  count_ += other.count_;
  max_ns_ = std::max(max_ns_, other.max_ns_);
  sum_ns_ += other.sum_ns_;
}

double Histogram::MeanNs() const noexcept {
  return count_ == 0 ? 0 : sum_ns_ / static_cast<double>(count_);
}

std::uint64_t Histogram::PercentileNs(double percentile) const noexcept {
  const double wanted = std::ceil(percentile / 100 * static_cast<double>(count_) - 1e-9);
  std::uint64_t seen = 0;
  for (std::size_t i = 0; i < buckets_.size(); ++i) {
    seen += buckets_[i];
    if (seen > 0 && static_cast<double>(seen) >= wanted) return std::min(HighestOf(i), max_ns_);
  }
  return 0;
}

std::string Histogram::PercentileText() const {
  std::string text = "       Value     Percentile TotalCount 1/(1-Percentile)\n\n";
  char line[128];
  const auto append = [&](std::uint64_t ns, double share, std::uint64_t seen) {
    const int n =
        std::snprintf(line, sizeof(line), "%12.3f %14.12f %10llu", static_cast<double>(ns) / 1e3,
                      share, static_cast<unsigned long long>(seen));
    text.append(line, static_cast<std::size_t>(n));
    if (share < 1) {
      std::snprintf(line, sizeof(line), " %14.2f", 1 / (1 - share));
      text += line;
    }
    text += '\n';
  };
  std::uint64_t seen = 0;
  int step = 0;
  for (std::size_t i = 0; i < buckets_.size() && count_ > 0; ++i) {
    if (buckets_[i] == 0) continue;
    seen += buckets_[i];
    const double share = static_cast<double>(seen) / static_cast<double>(count_);
    const std::uint64_t ns = std::min(HighestOf(i), max_ns_);
    double wanted = 1 - std::exp2(-static_cast<double>(step) / kStepsPerHalving);
    if (seen == count_) {
      append(ns, 1, seen);
    } else if (share >= wanted) {
      append(ns, share, seen);
      while (share >= wanted)
        wanted = 1 - std::exp2(-static_cast<double>(++step) / kStepsPerHalving);
    }
  }
  std::snprintf(line, sizeof(line), "#[Mean = %.3f, Max = %.3f, Total count = %llu]\n",
                MeanNs() / 1e3, static_cast<double>(max_ns_) / 1e3,
                static_cast<unsigned long long>(count_));
  return text + line;
}

}  // namespace podcache::bench
