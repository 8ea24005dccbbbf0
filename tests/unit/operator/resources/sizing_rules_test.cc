#include "operator/resources/sizing_rules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace podcache::control {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

SizingRule Rule(std::string name, SizingMatch match) {
  SizingRule rule;
  rule.name = std::move(name);
  rule.match = std::move(match);
  return rule;
}

// The example of the specification: two rules for arm64, one for amd64, no catch-all.
std::vector<SizingRule> ExampleRules() {
  return {
      Rule("arm64-64k-pages", {.arch = {"arm64"}, .page_size_bytes = 65536, .node_selector = {}}),
      Rule("graviton",
           {.arch = {"arm64"}, .page_size_bytes = {}, .node_selector = {{"type", "r7g"}}}),
      Rule("amd64-smt", {.arch = {"amd64"}, .page_size_bytes = {}, .node_selector = {}})};
}

std::vector<std::string> Possible(const std::vector<SizingRule>& rules,
                                  const std::map<std::string, std::string>& pod_node_selector) {
  std::vector<std::string> names;
  for (const auto& rule : PossibleRules(ToSizingRules(rules), pod_node_selector))
    names.push_back(rule.name);
  return names;
}

TEST(ToSizingRules, KeepsEveryField) {
  SizingRule rule =
      Rule("a", {.arch = {"arm64"}, .page_size_bytes = 65536, .node_selector = {{"k", "v"}}});
  rule.threads = {.per_cpu_percent = 100, .min = 2, .max = 8};
  rule.memory = {.overhead_percent = 20, .overhead_fixed_bytes = 64ULL << 20};
  const auto converted = ToSizingRules({rule});
  ASSERT_EQ(converted.size(), 1U);
  EXPECT_EQ(converted[0].name, "a");
  EXPECT_THAT(converted[0].match.arch, ElementsAre("arm64"));
  EXPECT_EQ(converted[0].match.page_size_bytes, 65536U);
  EXPECT_THAT(converted[0].match.node_selector, ElementsAre(::testing::Pair("k", "v")));
  EXPECT_EQ(converted[0].threads.per_cpu_percent, 100U);
  EXPECT_EQ(converted[0].threads.min, 2U);
  EXPECT_EQ(converted[0].threads.max, 8U);
  EXPECT_EQ(converted[0].memory.overhead_percent, 20U);
  EXPECT_EQ(converted[0].memory.overhead_fixed_bytes, 64ULL << 20);
}

TEST(RulesOf, PrefersTheObjectsOwn) {
  CacheProfile profile;
  profile.spec.rules = ExampleRules();
  CacheSidecarSpec spec;
  EXPECT_THAT(RulesOf(spec, nullptr), IsEmpty());
  EXPECT_EQ(RulesOf(spec, &profile).size(), 3U);
  spec.sizing.emplace().rules = {Rule("own", {})};
  EXPECT_EQ(RulesOf(spec, &profile).size(), 1U);
}

TEST(PossibleRules, WithoutAnyRuleIsTheBuiltInOne) {
  EXPECT_THAT(Possible({}, {}), ElementsAre("built-in"));
}

TEST(PossibleRules, AnywhereAllCount) {
  // An arm64 node with small pages that is no r7g matches nothing.
  EXPECT_THAT(Possible(ExampleRules(), {}),
              ElementsAre("arm64-64k-pages", "graviton", "amd64-smt", "built-in"));
}

TEST(PossibleRules, TheArchitectureNarrows) {
  EXPECT_THAT(Possible(ExampleRules(), {{"kubernetes.io/arch", "amd64"}}),
              ElementsAre("amd64-smt"));
  EXPECT_THAT(Possible(ExampleRules(), {{"kubernetes.io/arch", "arm64"}}),
              ElementsAre("arm64-64k-pages", "graviton", "built-in"));
  EXPECT_THAT(Possible(ExampleRules(), {{"kubernetes.io/arch", "s390x"}}), ElementsAre("built-in"));
}

TEST(PossibleRules, AnotherLabelValueRulesOut) {
  EXPECT_THAT(Possible(ExampleRules(), {{"kubernetes.io/arch", "arm64"}, {"type", "m7g"}}),
              ElementsAre("arm64-64k-pages", "built-in"));
}

TEST(PossibleRules, NothingCountsAfterACatchAll) {
  auto rules = ExampleRules();
  rules.insert(rules.begin() + 2, Rule("any", {}));
  EXPECT_THAT(Possible(rules, {}), ElementsAre("arm64-64k-pages", "graviton", "any"));
}

TEST(PossibleRules, ArchitecturesTogetherNeedNoBuiltIn) {
  EXPECT_THAT(
      Possible({Rule("amd64", {.arch = {"amd64"}, .page_size_bytes = {}, .node_selector = {}}),
                Rule("arm64", {.arch = {"arm64"}, .page_size_bytes = {}, .node_selector = {}})},
               {}),
      ElementsAre("amd64", "arm64"));
}

TEST(UnreachableRules, NamesThoseInTheShadow) {
  EXPECT_THAT(UnreachableRules(ExampleRules()), IsEmpty());
  auto rules = ExampleRules();
  rules.push_back(
      Rule("amd64-large", {.arch = {"amd64"}, .page_size_bytes = 4096, .node_selector = {}}));
  rules.push_back(Rule("any", {}));
  rules.push_back(Rule("late", {.arch = {"arm64"}, .page_size_bytes = {}, .node_selector = {}}));
  EXPECT_THAT(UnreachableRules(rules), ElementsAre("amd64-large", "late"));
}

TEST(UnreachableRules, AWiderRuleIsNotInTheShadow) {
  EXPECT_THAT(
      UnreachableRules(
          {Rule("narrow", {.arch = {"amd64"}, .page_size_bytes = {}, .node_selector = {}}),
           Rule("both", {.arch = {"amd64", "arm64"}, .page_size_bytes = {}, .node_selector = {}}),
           Rule("labels", {.arch = {}, .page_size_bytes = {}, .node_selector = {{"a", "1"}}}),
           Rule("others", {.arch = {}, .page_size_bytes = {}, .node_selector = {{"a", "2"}}})}),
      IsEmpty());
}

}  // namespace
}  // namespace podcache::control
