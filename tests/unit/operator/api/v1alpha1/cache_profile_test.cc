#include "operator/api/v1alpha1/cache_profile.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(CacheProfile, HasItsDefaults) {
  FieldErrors errors;
  const CacheProfile profile = CacheProfileFromJson(
      json::parse(R"({"metadata": {"name": "default"}, "spec": {"rules": [{"name": "any"}]}})"),
      &errors);
  EXPECT_THAT(errors, IsEmpty());
  ASSERT_EQ(profile.spec.rules.size(), 1U);
  const SizingRule& rule = profile.spec.rules[0];
  EXPECT_EQ(rule.match, SizingMatch());
  // The built-in rule: 1 thread per 2 CPUs, 25 % + 128Mi.
  EXPECT_EQ(rule.threads, (SizingThreads{.per_cpu_percent = 50, .min = 1, .max = 16}));
  EXPECT_EQ(rule.memory,
            (SizingMemory{.overhead_percent = 25, .overhead_fixed_bytes = 128ULL << 20}));
}

TEST(CacheProfile, WrittenIsReadBackUnchanged) {
  CacheProfile profile;
  profile.metadata.name = "default";
  SizingRule& rule = profile.spec.rules.emplace_back();
  rule.name = "arm64-64k";
  rule.match = {.arch = {"arm64"}, .page_size_bytes = 65536, .node_selector = {{"pool", "cache"}}};
  profile.status = {.observed_generation = 1, .rule_count = 1, .used_by = 2, .conditions = {}};
  FieldErrors errors;
  EXPECT_EQ(CacheProfileFromJson(ToJson(profile), &errors), profile);
  EXPECT_THAT(errors, IsEmpty());
}

TEST(CacheProfile, NamesWhatItCannotRead) {
  FieldErrors errors;
  const CacheProfile profile =
      CacheProfileFromJson(json::parse(R"({"metadata": {"name": "default"}, "spec": {"rules": [
      {"name": "a", "match": {"arch": ["amd64", "sparc"]}},
      {"name": "b", "memory": {"overheadPercent": 201}}]}})"),
                           &errors);
  EXPECT_THAT(errors, ElementsAre(FieldError{"spec.rules[0].match.arch[1]", "has no value sparc"},
                                  FieldError{"spec.rules[1].memory.overheadPercent",
                                             "must be a whole number from 0 to 200"}));
  EXPECT_THAT(profile.spec.rules[0].match.arch, ElementsAre("amd64"));
}

}  // namespace
}  // namespace podcache::control
