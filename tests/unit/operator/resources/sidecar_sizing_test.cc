#include "operator/resources/sidecar_sizing.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace podcache::control {
namespace {

constexpr std::uint64_t kMi = 1ULL << 20;
constexpr std::uint64_t kGi = 1ULL << 30;

sizing::Rule Rule(std::uint32_t percent, std::uint64_t fixed_bytes) {
  sizing::Rule rule;
  rule.memory = {.overhead_percent = percent, .overhead_fixed_bytes = fixed_bytes};
  return rule;
}

CacheSidecarSpec SpecOfSize(std::uint64_t bytes) {
  CacheSidecarSpec spec;
  spec.memory.size_bytes = bytes;
  return spec;
}

TEST(SizeSidecar, ComputesTheLimit) {
  // 256Mi × 1.10 + 64Mi = 345.6Mi, rounded up to a Mi.
  const SidecarSizing sizing = SizeSidecar(SpecOfSize(256 * kMi), {Rule(10, 64 * kMi)}, false);
  EXPECT_EQ(sizing.desired_cache_bytes, 256 * kMi);
  EXPECT_EQ(sizing.cache_bytes, 256 * kMi);
  EXPECT_EQ(sizing.needed_limit_bytes, 346 * kMi);
  EXPECT_EQ(sizing.amounts, (ContainerAmounts{.memory_request_bytes = 346 * kMi,
                                              .memory_limit_bytes = 346 * kMi,
                                              .cpu_request_milli = 50,
                                              .cpu_limit_milli = 0}));
}

TEST(SizeSidecar, TakesTheLargestNeedOfAllRules) {
  // 64Mi: 10 % + 64Mi = 134.4Mi; 100 % + 1Mi = 129Mi; 20 % + 128Mi = 204.8Mi.
  const std::vector<sizing::Rule> rules{Rule(10, 64 * kMi), Rule(20, 128 * kMi), Rule(100, kMi)};
  EXPECT_EQ(SizeSidecar(SpecOfSize(64 * kMi), rules, false).amounts.memory_limit_bytes, 205 * kMi);
}

TEST(SizeSidecar, AGivenLimitThatIsTooSmallLowersTheCache) {
  CacheSidecarSpec spec = SpecOfSize(kGi);
  spec.resources.memory.limit_bytes = 1152 * kMi;
  const SidecarSizing sizing = SizeSidecar(spec, {Rule(25, 128 * kMi)}, false);
  EXPECT_EQ(sizing.amounts.memory_limit_bytes, 1152 * kMi);
  EXPECT_EQ(sizing.desired_cache_bytes, kGi);
  EXPECT_EQ(sizing.needed_limit_bytes, 1408 * kMi);  // 1Gi × 1.25 + 128Mi
  EXPECT_EQ(sizing.cache_bytes, 1024 * kMi * 100 / 125);
}

TEST(SizeSidecar, ALimitBelowTheOverheadHoldsNothing) {
  CacheSidecarSpec spec = SpecOfSize(64 * kMi);
  spec.resources.memory.limit_bytes = 128 * kMi;
  EXPECT_EQ(SizeSidecar(spec, {Rule(25, 128 * kMi)}, false).cache_bytes, 0U);
}

TEST(SizeSidecar, PercentOfLimit) {
  CacheSidecarSpec spec;
  spec.memory.percent_of_limit = 80;
  spec.resources.memory.limit_bytes = kGi;
  const SidecarSizing roomy = SizeSidecar(spec, {Rule(10, 64 * kMi)}, false);
  EXPECT_EQ(roomy.desired_cache_bytes, kGi * 80 / 100);
  EXPECT_EQ(roomy.cache_bytes, kGi * 80 / 100);  // × 1.1 + 64Mi = 965Mi
  const SidecarSizing tight = SizeSidecar(spec, {Rule(25, 128 * kMi)}, false);
  EXPECT_EQ(tight.cache_bytes, 896 * kMi * 100 / 125);
  EXPECT_EQ(tight.amounts.memory_limit_bytes, kGi);
}

TEST(SizeSidecar, RequestsAreNeverAboveLimits) {
  CacheSidecarSpec spec = SpecOfSize(64 * kMi);
  spec.resources.memory.request_bytes = 100 * kGi;
  spec.resources.cpu.limit_milli = 20;
  const ContainerAmounts amounts = SizeSidecar(spec, {Rule(10, 64 * kMi)}, false).amounts;
  EXPECT_EQ(amounts.memory_request_bytes, 135 * kMi);
  EXPECT_EQ(amounts.memory_limit_bytes, 135 * kMi);
  EXPECT_EQ(amounts.cpu_request_milli, 20U);
}

TEST(SizeSidecar, KeepsGivenRequests) {
  CacheSidecarSpec spec = SpecOfSize(64 * kMi);
  spec.resources.memory.request_bytes = 100 * kMi;
  spec.resources.cpu = {.request_milli = 200, .limit_milli = 1000};
  EXPECT_EQ(SizeSidecar(spec, {Rule(10, 64 * kMi)}, false).amounts,
            (ContainerAmounts{.memory_request_bytes = 100 * kMi,
                              .memory_limit_bytes = 135 * kMi,
                              .cpu_request_milli = 200,
                              .cpu_limit_milli = 1000}));
}

TEST(SizeSidecar, GuaranteedMeansRequestsEqualLimits) {
  CacheSidecarSpec spec = SpecOfSize(64 * kMi);
  spec.resources.memory.request_bytes = 100 * kMi;
  ContainerAmounts amounts = SizeSidecar(spec, {Rule(10, 64 * kMi)}, true).amounts;
  EXPECT_EQ(amounts, (ContainerAmounts{.memory_request_bytes = 135 * kMi,
                                       .memory_limit_bytes = 135 * kMi,
                                       .cpu_request_milli = 50,
                                       .cpu_limit_milli = 50}));
  spec.resources.cpu = {.request_milli = 200, .limit_milli = 1000};
  amounts = SizeSidecar(spec, {Rule(10, 64 * kMi)}, true).amounts;
  EXPECT_EQ(amounts.cpu_request_milli, 1000U);
  EXPECT_EQ(amounts.cpu_limit_milli, 1000U);
}

TEST(SizeSidecar, SurvivesTheLargestValues) {
  CacheSidecarSpec spec = SpecOfSize(64ULL << 40);
  const SidecarSizing sizing = SizeSidecar(spec, {Rule(200, 64ULL << 40)}, false);
  EXPECT_EQ(sizing.amounts.memory_limit_bytes, 256ULL << 40);
  EXPECT_EQ(sizing.cache_bytes, 64ULL << 40);
}

TEST(SidecarThreads, FixedOrByTheRule) {
  const sizing::ThreadRule rule{.per_cpu_percent = 50, .min = 1, .max = 16};
  EXPECT_EQ(SidecarThreads({.mode = ThreadsMode::kFixed, .count = 3}, rule, 8000, 64), 3U);
  EXPECT_EQ(SidecarThreads({}, rule, 8000, 64), 4U);
  EXPECT_EQ(SidecarThreads({}, rule, 1000, 64), 1U);          // 0.5, rounded half up
  EXPECT_EQ(SidecarThreads({}, rule, std::nullopt, 64), 2U);  // basis 4, not the host's 64
  EXPECT_EQ(SidecarThreads({}, rule, std::nullopt, 1), 1U);
}

}  // namespace
}  // namespace podcache::control
