#include "tests/benchmark/load/histogram.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <string>

namespace podcache::bench {
namespace {

TEST(Histogram, BucketsFollowEachOther) {
  // The value above the highest of a bucket is in the next one.
  for (std::size_t bucket = 0; bucket < 3000; ++bucket) {
    const std::uint64_t highest = Histogram::HighestOf(bucket);
    ASSERT_EQ(Histogram::BucketOf(highest), bucket);
    ASSERT_EQ(Histogram::BucketOf(highest + 1), bucket + 1);
  }
}

TEST(Histogram, NoBucketIsWiderThanItsPromise) {
  for (std::size_t bucket = 1; bucket < Histogram::BucketOf(Histogram::kMaxNs); ++bucket) {
    const std::uint64_t lowest = Histogram::HighestOf(bucket - 1) + 1;
    const std::uint64_t highest = Histogram::HighestOf(bucket);
    ASSERT_LT(static_cast<double>(highest - lowest), static_cast<double>(lowest) / 128 + 0.5)
        << bucket;
  }
}

TEST(Histogram, SmallValuesAreExact) {
  Histogram histogram;
  for (std::uint64_t ns = 1; ns <= 100; ++ns) histogram.Record(ns);
  EXPECT_EQ(histogram.PercentileNs(50), 50U);
  EXPECT_EQ(histogram.PercentileNs(99), 99U);
  EXPECT_EQ(histogram.PercentileNs(99.01), 100U);
  EXPECT_EQ(histogram.PercentileNs(100), 100U);
  EXPECT_DOUBLE_EQ(histogram.MeanNs(), 50.5);
  EXPECT_EQ(histogram.max_ns(), 100U);
}

TEST(Histogram, LargeValuesWithinThePromise) {
  Histogram histogram;
  constexpr std::uint64_t kCount = 100'000;
  for (std::uint64_t i = 1; i <= kCount; ++i) histogram.Record(i * 1000);
  for (const double percentile : {1.0, 50.0, 90.0, 99.0, 99.9}) {
    const double exact = percentile / 100 * kCount * 1000;
    const auto got = static_cast<double>(histogram.PercentileNs(percentile));
    EXPECT_GE(got, exact);
    EXPECT_LE(got, exact * (1 + 1.0 / 128)) << percentile;
  }
}

TEST(Histogram, MergingIsRecordingTogether) {
  Histogram one;
  Histogram other;
  one.Record(10, 3);
  other.Record(1'000'000, 1);
  one.Merge(other);
  EXPECT_EQ(one.count(), 4U);
  EXPECT_EQ(one.PercentileNs(75), 10U);
  EXPECT_EQ(one.PercentileNs(76), 1'000'000U);
  EXPECT_DOUBLE_EQ(one.MeanNs(), (30 + 1'000'000) / 4.0);
}

TEST(Histogram, NothingAndTooMuch) {
  Histogram histogram;
  EXPECT_EQ(histogram.PercentileNs(99), 0U);
  EXPECT_EQ(histogram.MeanNs(), 0);
  histogram.Record(~std::uint64_t{0});
  EXPECT_EQ(histogram.PercentileNs(50), Histogram::kMaxNs);
}

TEST(Histogram, TextEndsWithAllValues) {
  Histogram histogram;
  for (int i = 0; i < 9; ++i) histogram.Record(1000);
  histogram.Record(2000);
  EXPECT_EQ(histogram.PercentileText(),
            "       Value     Percentile TotalCount 1/(1-Percentile)\n\n"
            "       1.003 0.900000000000          9          10.00\n"
            "       2.000 1.000000000000         10\n"
            "#[Mean = 1.100, Max = 2.000, Total count = 10]\n");
}

}  // namespace
}  // namespace podcache::bench
