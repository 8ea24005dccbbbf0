#include "server/start_sizes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace podcache::server {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr std::uint64_t kMi = 1ULL << 20;
constexpr std::uint64_t kSmallest = kMi;

Surroundings Place(std::uint64_t memory_bytes, std::uint64_t cpu_milli, std::uint32_t cpus) {
  Surroundings place;
  if (memory_bytes != 0) place.cgroup_memory_bytes = memory_bytes;
  if (cpu_milli != 0) place.cgroup_cpu_milli = cpu_milli;
  place.usable_cpus = cpus;
  place.host.arch = "amd64";
  place.host.page_size_bytes = 4096;
  return place;
}

PodConfig Pod(const std::string& json) {
  PodConfig pod;
  std::string error;
  EXPECT_TRUE(ParsePodConfig(json, pod, error)) << error;
  return pod;
}

StartSizes Choose(const Options& options, const PodConfig* pod, const Surroundings& place) {
  StartSizes sizes;
  std::string error;
  EXPECT_TRUE(ChooseStartSizes(options, pod, place, kSmallest, sizes, error)) << error;
  if (place.cgroup_memory_bytes && sizes.memory_limit_bytes > kSmallest) {
    EXPECT_TRUE(sizing::InvariantHolds(sizes.sizing.memory, sizes.memory_limit_bytes,
                                       *place.cgroup_memory_bytes));
  }
  return sizes;
}

TEST(StartSizes, WithoutAnyLimit) {
  const StartSizes small = Choose({}, nullptr, Place(0, 0, 2));
  EXPECT_EQ(small.memory_limit_bytes, 64 * kMi);
  EXPECT_EQ(small.threads, 2U);
  EXPECT_EQ(Choose({}, nullptr, Place(0, 0, 64)).threads, 4U);
  EXPECT_EQ(small.sizing.source, SizingSource::kCgroup);
}

TEST(StartSizes, FromTheCgroup) {
  // (256 Mi − 32 Mi) / 1.25.
  const StartSizes sizes = Choose({}, nullptr, Place(256 * kMi, 2000, 64));
  EXPECT_EQ(sizes.memory_limit_bytes, 224 * kMi * 100 / 125);
  EXPECT_EQ(sizes.memory_target_bytes, sizes.memory_limit_bytes);
  EXPECT_EQ(sizes.threads, 2U);
  // One CPU on a machine with 64 cores: one thread.
  EXPECT_EQ(Choose({}, nullptr, Place(256 * kMi, 1000, 64)).threads, 1U);
  EXPECT_EQ(Choose({}, nullptr, Place(256 * kMi, 100, 64)).threads, 1U);
}

TEST(StartSizes, ExplicitValuesWin) {
  Options options;
  options.memory_bytes = 100 * kMi;
  options.threads = 7;
  const PodConfig pod =
      Pod(R"({"version":1,"memory":{"sizeBytes":1000000},"threads":{"mode":"Fixed","count":2}})");
  const StartSizes sizes = Choose(options, &pod, Place(256 * kMi, 1000, 1));
  EXPECT_EQ(sizes.memory_limit_bytes, 100 * kMi);
  EXPECT_EQ(sizes.threads, 7U);
  EXPECT_EQ(sizes.sizing.source, SizingSource::kExplicit);
}

TEST(StartSizes, ExplicitMemoryThatCannotFitIsRefusedNamingBothNumbers) {
  Options options;
  options.memory_bytes = 256 * kMi;
  StartSizes sizes;
  std::string error;
  EXPECT_FALSE(ChooseStartSizes(options, nullptr, Place(256 * kMi, 0, 1), kSmallest, sizes, error));
  EXPECT_THAT(error, HasSubstr("memory of 268435456 bytes"));
  EXPECT_THAT(error, HasSubstr("limit of 268435456 bytes"));
  // 256 Mi × 1.05 + 24 Mi is the least that holds it.
  const std::uint64_t needed = (256 * kMi * 105 + 99) / 100 + 24 * kMi;
  EXPECT_FALSE(
      ChooseStartSizes(options, nullptr, Place(needed - 1, 0, 1), kSmallest, sizes, error));
  EXPECT_TRUE(ChooseStartSizes(options, nullptr, Place(needed, 0, 1), kSmallest, sizes, error));
}

TEST(StartSizes, PodConfigurationIsClampedToTheCgroup) {
  const PodConfig pod = Pod(R"({"version":1,"memory":{"sizeBytes":268435456},
    "rules":[{"name":"r","match":{"arch":["amd64"]},"memory":{"overheadPercent":10,"overheadFixedBytes":67108864}}]})");
  const StartSizes fits = Choose({}, &pod, Place(400 * kMi, 1000, 1));
  EXPECT_EQ(fits.memory_limit_bytes, 256 * kMi);
  EXPECT_EQ(fits.sizing.source, SizingSource::kRule);
  EXPECT_EQ(fits.sizing.rule_name, "r");
  EXPECT_THAT(fits.notes, IsEmpty());
  // (174 Mi − 64 Mi) / 1.1 = 100 Mi.
  const StartSizes clamped = Choose({}, &pod, Place(174 * kMi, 1000, 1));
  EXPECT_EQ(clamped.memory_limit_bytes, 100 * kMi);
  EXPECT_EQ(clamped.memory_target_bytes, 256 * kMi);
  EXPECT_THAT(clamped.notes, Not(IsEmpty()));
  // Too small for any cache: the smallest one serves.
  EXPECT_EQ(Choose({}, &pod, Place(32 * kMi, 1000, 1)).memory_limit_bytes, kSmallest);
}

TEST(StartSizes, PercentOfTheLimit) {
  const PodConfig pod = Pod(R"({"version":1,"memory":{"percentOfLimit":80},
    "rules":[{"name":"r","memory":{"overheadPercent":0,"overheadFixedBytes":0}}]})");
  EXPECT_EQ(Choose({}, &pod, Place(1000 * kMi, 1000, 1)).memory_limit_bytes, 800 * kMi);
  // The invariant counts beside the percentage.
  const PodConfig tight = Pod(R"({"version":1,"memory":{"percentOfLimit":80},
    "rules":[{"name":"r","memory":{"overheadPercent":100,"overheadFixedBytes":0}}]})");
  EXPECT_EQ(Choose({}, &tight, Place(1000 * kMi, 1000, 1)).memory_limit_bytes, 500 * kMi);
}

TEST(StartSizes, RuleByPlace) {
  const PodConfig pod =
      Pod(R"({"version":1,"memory":{"sizeBytes":104857600},"threads":{"mode":"Auto"},"rules":[
    {"name":"arm","match":{"arch":["arm64"]},"threads":{"perCPUPercent":100,"min":1,"max":16}},
    {"name":"pool","match":{"arch":["amd64"],"nodeSelector":{"k":"v"}}},
    {"name":"amd","match":{"arch":["amd64"],"pageSizeBytes":4096},"threads":{"perCPUPercent":50,"min":1,"max":3}}]})");
  const StartSizes amd = Choose({}, &pod, Place(0, 4000, 64));
  EXPECT_EQ(amd.sizing.rule_name, "amd");  // The node's labels are unknown to a server.
  EXPECT_EQ(amd.threads, 2U);
  EXPECT_EQ(Choose({}, &pod, Place(0, 64'000, 64)).threads, 3U);
  Surroundings arm = Place(0, 4000, 64);
  arm.host.arch = "arm64";
  EXPECT_EQ(Choose({}, &pod, arm).threads, 4U);
  Surroundings other = Place(0, 4000, 64);
  other.host.page_size_bytes = 65536;
  const StartSizes none = Choose({}, &pod, other);
  EXPECT_EQ(none.sizing.source, SizingSource::kNoMatch);
  EXPECT_EQ(none.threads, 2U);  // 1 thread per 2 CPUs.
  EXPECT_EQ(none.sizing.memory.overhead_percent, 25U);
  EXPECT_EQ(none.sizing.memory.overhead_fixed_bytes, 128 * kMi);
}

TEST(StartSizes, LittleMemoryMeansFewerThreads) {
  const PodConfig pod = Pod(R"({"version":1,"memory":{"sizeBytes":8388608},
    "rules":[{"name":"r","threads":{"perCPUPercent":100,"min":1,"max":16}}]})");
  const StartSizes sizes = Choose({}, &pod, Place(0, 16'000, 64));
  EXPECT_EQ(sizes.threads, 2U);
  EXPECT_THAT(sizes.notes, Not(IsEmpty()));
}

TEST(StartSizes, ItemSizeIsAtMostHalfOfTheMemory) {
  Options options;
  options.memory_bytes = kMi;
  EXPECT_EQ(Choose(options, nullptr, Place(0, 0, 1)).max_item_size_bytes, kMi / 2);
  options.max_item_size_given = true;
  StartSizes sizes;
  std::string error;
  EXPECT_FALSE(ChooseStartSizes(options, nullptr, Place(0, 0, 1), kSmallest, sizes, error));
  EXPECT_THAT(error, HasSubstr("-I"));
}

TEST(PodConfig, ReadsTheContractsExample) {
  const PodConfig pod = Pod(R"({"version": 1, "sidecar": "shop/web-l1", "configHash": "6f1c",
    "memory": {"sizeBytes": 268435456}, "maxItemSizeBytes": 1048576, "maxConnections": 4096,
    "threads": {"mode": "Auto"}, "unknownMember": [1],
    "rules": [{"name": "amd64-smt",
      "match": {"arch": ["amd64"], "pageSizeBytes": 4096, "nodeSelector": {"k": "v"}},
      "threads": {"perCPUPercent": 50, "min": 1, "max": 16},
      "memory": {"overheadPercent": 10, "overheadFixedBytes": 67108864}}]})");
  EXPECT_EQ(pod.sidecar, "shop/web-l1");
  EXPECT_EQ(pod.config_hash, "6f1c");
  EXPECT_EQ(pod.memory_bytes, 268435456U);
  EXPECT_EQ(pod.max_item_size_bytes, 1048576U);
  EXPECT_EQ(pod.max_connections, 4096U);
  EXPECT_FALSE(pod.threads);
  ASSERT_EQ(pod.rules.size(), 1U);
  const sizing::Rule& rule = pod.rules[0];
  EXPECT_EQ(rule.name, "amd64-smt");
  EXPECT_EQ(rule.match.arch, std::vector<std::string>{"amd64"});
  EXPECT_EQ(rule.match.page_size_bytes, 4096U);
  EXPECT_EQ(rule.match.node_selector.at(0).first, "k");
  EXPECT_EQ(rule.threads.per_cpu_percent, 50U);
  EXPECT_EQ(rule.memory.overhead_percent, 10U);
  EXPECT_EQ(rule.memory.overhead_fixed_bytes, 67108864U);
}

TEST(PodConfig, RefusesWhatItCannotMeanInOneLine) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"", "JSON object"},
      {"[]", "JSON object"},
      {"{", "JSON object"},
      {R"({"memory":{"sizeBytes":1}})", "version"},
      {R"({"version":2,"memory":{"sizeBytes":1}})", "version"},
      {R"({"version":1})", "memory"},
      {R"({"version":1,"memory":5})", "memory"},
      {R"({"version":1,"memory":{}})", "exactly one"},
      {R"({"version":1,"memory":{"sizeBytes":1,"percentOfLimit":5}})", "exactly one"},
      {R"({"version":1,"memory":{"sizeBytes":-1}})", "sizeBytes"},
      {R"({"version":1,"memory":{"sizeBytes":"1Gi"}})", "sizeBytes"},
      {R"({"version":1,"memory":{"percentOfLimit":101}})", "percentOfLimit"},
      {R"({"version":1,"memory":{"sizeBytes":1},"threads":{"mode":"Some"}})", "threads.mode"},
      {R"({"version":1,"memory":{"sizeBytes":1},"threads":{"mode":"Fixed"}})", "threads.count"},
      {R"({"version":1,"memory":{"sizeBytes":1},"threads":{"mode":"Fixed","count":0}})",
       "threads.count"},
      {R"({"version":1,"memory":{"sizeBytes":1},"rules":{}})", "rules"},
      {R"({"version":1,"memory":{"sizeBytes":1},"rules":[1]})", "rules"},
      {R"({"version":1,"memory":{"sizeBytes":1},"rules":[{"threads":{"perCPUPercent":0}}]})",
       "perCPUPercent"},
      {R"({"version":1,"memory":{"sizeBytes":1},"rules":[{"memory":{"overheadPercent":201}}]})",
       "overheadPercent"},
      {R"({"version":1,"memory":{"sizeBytes":1},"rules":[{"match":{"arch":"amd64"}}]})",
       "match.arch"},
      {R"({"version":1,"memory":{"sizeBytes":1},"maxConnections":0})", "maxConnections"},
  };
  for (const auto& [text, message] : cases) {
    PodConfig pod;
    std::string error;
    EXPECT_FALSE(ParsePodConfig(text, pod, error)) << text;
    EXPECT_THAT(error, HasSubstr("PODCACHE_POD_CONFIG: "));
    EXPECT_THAT(error, HasSubstr(message)) << text;
    EXPECT_EQ(error.find('\n'), std::string::npos);
  }
}

}  // namespace
}  // namespace podcache::server
