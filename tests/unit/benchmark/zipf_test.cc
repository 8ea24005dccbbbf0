#include "tests/benchmark/load/zipf.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>
#include <vector>

#include "tests/benchmark/load/random.h"

namespace podcache::bench {
namespace {

double Sum(std::uint64_t n, double s) {
  double sum = 0;
  for (std::uint64_t i = 1; i <= n; ++i) sum += std::pow(static_cast<double>(i), -s);
  return sum;
}

class ZipfTheory : public ::testing::TestWithParam<double> {};

// Chi-squared of 999 degrees of freedom: beyond mean + 5 standard deviations once in millions.
TEST_P(ZipfTheory, FrequenciesAreThoseOfTheLaw) {
  constexpr std::uint64_t kRanks = 1000;
  constexpr int kDraws = 2'000'000;
  const double s = GetParam();
  const Zipf zipf(kRanks, s);
  Random random(7);
  std::vector<double> seen(kRanks + 1);
  for (int i = 0; i < kDraws; ++i) {
    const std::uint64_t rank = zipf.Next(random);
    ASSERT_GE(rank, 1U);
    ASSERT_LE(rank, kRanks);
    ++seen[rank];
  }
  const double norm = kDraws / Sum(kRanks, s);
  double chi_squared = 0;
  for (std::uint64_t rank = 1; rank <= kRanks; ++rank) {
    const double expected = norm * std::pow(static_cast<double>(rank), -s);
    chi_squared += (seen[rank] - expected) * (seen[rank] - expected) / expected;
  }
  constexpr double kFreedom = kRanks - 1;
  EXPECT_LT(chi_squared, kFreedom + 5 * std::sqrt(2 * kFreedom));
}

INSTANTIATE_TEST_SUITE_P(Exponents, ZipfTheory, ::testing::Values(0.5, 0.7, 0.99, 1.0, 1.1, 2.0));

TEST(Zipf, OneRank) {
  const Zipf zipf(1, 1.0);
  Random random(1);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(zipf.Next(random), 1U);
}

TEST(Zipf, ManyRanksReachTheTail) {
  constexpr std::uint64_t kRanks = 1'000'000'000;
  const Zipf zipf(kRanks, 1.0);
  Random random(1);
  // The harmonic numbers, by ln n + 0.5772.
  int tail = 0;
  for (int i = 0; i < 10'000; ++i) tail += zipf.Next(random) > 10'000 ? 1 : 0;
  const double expected = 1 - (std::log(1e4) + 0.5772) / (std::log(1e9) + 0.5772);
  EXPECT_NEAR(tail / 1e4, expected, 0.025);
}

TEST(Random, IsTheSameEverywhere) {
  // splitmix64's published first value for the seed state 0.
  EXPECT_EQ(Mix(0), 0xe220a8397b1dcdafULL);
  Random random(3);
  std::vector<int> seen(10);
  for (int i = 0; i < 100'000; ++i) ++seen[random.Below(10)];
  for (const int n : seen) EXPECT_NEAR(n, 10'000, 500);
}

}  // namespace
}  // namespace podcache::bench
