#include "common/sizing/sizing.h"

#include <gtest/gtest.h>

#include <limits>

namespace podcache::sizing {
namespace {

constexpr std::uint64_t kMi = 1ULL << 20;

TEST(ThreadCount, RoundsHalfUpAndClamps) {
  const ThreadRule half{50, 1, 16};
  EXPECT_EQ(ThreadCount(half, 1000), 1U);  // 0.5 rounds up.
  EXPECT_EQ(ThreadCount(half, 900), 1U);   // 0.45 rounds to 0, min 1.
  EXPECT_EQ(ThreadCount(half, 2900), 1U);  // 1.45
  EXPECT_EQ(ThreadCount(half, 3000), 2U);  // 1.5
  EXPECT_EQ(ThreadCount(half, 64'000), 16U);
  const ThreadRule full{100, 2, 4};
  EXPECT_EQ(ThreadCount(full, 1000), 2U);
  EXPECT_EQ(ThreadCount(full, 3000), 3U);
  EXPECT_EQ(ThreadCount(full, std::numeric_limits<std::uint64_t>::max()), 4U);
}

TEST(CpuBasis, LimitWinsElseAtMostFour) {
  EXPECT_EQ(CpuBasisMilli(1000, 64), 1000U);
  EXPECT_EQ(CpuBasisMilli(250, 64), 250U);
  EXPECT_EQ(CpuBasisMilli(std::nullopt, 64), 4000U);
  EXPECT_EQ(CpuBasisMilli(std::nullopt, 2), 2000U);
  EXPECT_EQ(CpuBasisMilli(std::nullopt, 0), 1000U);
}

TEST(Memory, RequiredLimitIsExactAndRoundsUp) {
  const MemoryRule rule{10, 64 * kMi};
  EXPECT_EQ(RequiredCgroupLimitBytes(rule, 100 * kMi), 110 * kMi + 64 * kMi);
  EXPECT_EQ(RequiredCgroupLimitBytes({10, 0}, 1), 2U);  // 1.1 bytes.
  EXPECT_EQ(RequiredCgroupLimitBytes({200, 1}, std::numeric_limits<std::uint64_t>::max()),
            std::numeric_limits<std::uint64_t>::max());
}

TEST(Memory, LargestCacheIsTheInverse) {
  for (const MemoryRule& rule :
       {MemoryRule{0, 0}, MemoryRule{10, 64 * kMi}, MemoryRule{25, 128 * kMi}}) {
    for (std::uint64_t limit = 129 * kMi; limit < 4096 * kMi; limit += 37 * kMi + 1013) {
      const std::uint64_t cache = LargestCacheBytes(rule, limit);
      EXPECT_TRUE(InvariantHolds(rule, cache, limit));
      EXPECT_FALSE(InvariantHolds(rule, cache + 1, limit));
    }
  }
  EXPECT_EQ(LargestCacheBytes({10, 64 * kMi}, 64 * kMi), 0U);
  EXPECT_EQ(LargestCacheBytes({10, 64 * kMi}, 0), 0U);
}

TEST(ChooseRule, FirstMatchWins) {
  Rule pages{"arm64-64k", {{"arm64"}, 65536, {}}, {}, {}};
  Rule graviton{
      "graviton", {{"arm64"}, 0, {{"node.kubernetes.io/instance-type", "r7g.2xlarge"}}}, {}, {}};
  Rule amd{"amd64", {{"amd64"}, 0, {}}, {}, {}};
  Rule any{"any", {}, {}, {}};
  const std::vector<Rule> rules{pages, graviton, amd, any};

  EXPECT_EQ(ChooseRule(rules, {"arm64", 65536, {}, false})->name, "arm64-64k");
  EXPECT_EQ(ChooseRule(rules, {"arm64", 4096, {}, false})->name, "any");  // Labels unknown.
  EXPECT_EQ(ChooseRule(rules,
                       {"arm64", 4096, {{"node.kubernetes.io/instance-type", "r7g.2xlarge"}}, true})
                ->name,
            "graviton");
  EXPECT_EQ(ChooseRule(rules, {"amd64", 4096, {}, false})->name, "amd64");
  EXPECT_EQ(ChooseRule({pages, amd}, {"arm64", 4096, {}, false}), nullptr);
  EXPECT_EQ(ChooseRule({}, {"amd64", 4096, {}, false}), nullptr);
}

}  // namespace
}  // namespace podcache::sizing
