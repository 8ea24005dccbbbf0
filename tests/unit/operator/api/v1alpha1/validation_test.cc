#include "operator/api/v1alpha1/validation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace podcache::control {
namespace {

using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::IsEmpty;

CacheSidecar Valid() {
  CacheSidecar sidecar;
  sidecar.metadata.name = "web-l1";
  sidecar.spec.selector.match_labels["app"] = "web";
  sidecar.spec.memory.size_bytes = 256ULL << 20;
  return sidecar;
}

std::vector<std::string> PathsOf(const CacheSidecar& sidecar) {
  std::vector<std::string> paths;
  for (const FieldError& error : Validate(sidecar)) paths.push_back(error.path);
  return paths;
}

TEST(ValidateCacheSidecar, TakesTheMinimum) { EXPECT_THAT(Validate(Valid()), IsEmpty()); }

TEST(ValidateCacheSidecar, WantsASelector) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.selector = {};
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.selector"));
  sidecar.spec.selector.match_expressions.push_back(
      {.key = "app", .op = SelectorOperator::kExists, .values = {}});
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
  sidecar.spec.selector.match_expressions[0].values = {"web"};
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.selector.matchExpressions[0]"));
  sidecar.spec.selector.match_expressions[0].op = SelectorOperator::kIn;
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
}

TEST(ValidateCacheSidecar, WantsExactlyOneSize) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.memory.percent_of_limit = 80;
  sidecar.spec.resources.memory.limit_bytes = 1ULL << 30;
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.memory"));
  sidecar.spec.memory.size_bytes.reset();
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
  sidecar.spec.resources.memory.limit_bytes.reset();
  EXPECT_THAT(Validate(sidecar),
              ElementsAre(FieldError{"spec", "percentOfLimit needs resources.memory.limit"}));
  sidecar.spec.memory.percent_of_limit.reset();
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.memory"));
}

// The server then runs at what fits: an object stored before the rule existed must still reconcile.
TEST(ValidateCacheSidecar, ToleratesALimitWithoutHeadroom) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.resources.memory.limit_bytes = 256ULL << 20;
  EXPECT_THAT(Validate(sidecar), IsEmpty());
}

TEST(ValidateCacheSidecar, BoundsTheLargestItem) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.memory.max_item_size_bytes = 128ULL << 20;
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
  ++sidecar.spec.memory.max_item_size_bytes;
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.memory"));
}

TEST(ValidateCacheSidecar, WantsACountForFixedThreads) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.threads.mode = ThreadsMode::kFixed;
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.threads"));
  sidecar.spec.threads.count = 2;
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
}

TEST(ValidateCacheSidecar, WantsOneSourceOfRules) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.profile_ref = ProfileReference{.name = "default"};
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
  sidecar.spec.sizing.emplace().rules.emplace_back().threads = {
      .per_cpu_percent = 50, .min = 3, .max = 2};
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec", "spec.sizing.rules[0].threads"));
}

TEST(ValidateCacheSidecar, WantsAListener) {
  CacheSidecar sidecar = Valid();
  sidecar.spec.listen.loopback = false;
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.listen"));
  sidecar.spec.listen.unix_socket.enabled = true;
  EXPECT_THAT(PathsOf(sidecar), IsEmpty());
  sidecar.spec.listen.port = 9151;
  EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.listen.port"));
}

TEST(ValidateCacheSidecar, KeepsReservedArgumentsOut) {
  CacheSidecar sidecar = Valid();
  for (const std::string argument : {"-m", "-m64", "-vvm", "-t4", "-c", "--memory-limit=64",
                                     "--threads", "--admin-listen=off", "-U"}) {
    sidecar.spec.extra_args = {"-v", argument};
    EXPECT_THAT(PathsOf(sidecar), ElementsAre("spec.extraArgs")) << argument;
  }
  for (const std::string argument :
       {"-v", "-vv", "--verbose", "--threads-more", "64", "-", "--", ""}) {
    sidecar.spec.extra_args = {argument};
    EXPECT_THAT(PathsOf(sidecar), IsEmpty()) << argument;
  }
}

TEST(ValidateCacheProfile, ChecksItsRules) {
  CacheProfile profile;
  EXPECT_THAT(Validate(profile), ElementsAre(Field(&FieldError::path, "spec.rules")));
  profile.spec.rules.emplace_back().name = "a";
  EXPECT_THAT(Validate(profile), IsEmpty());
  profile.spec.rules.emplace_back().threads.min = 17;
  EXPECT_THAT(Validate(profile),
              ElementsAre(FieldError{"spec.rules[1].threads", "min must not exceed max"}));
}

TEST(Describe, JoinsAndCuts) {
  EXPECT_EQ(Describe({}), "");
  EXPECT_EQ(Describe({{"a", "is wrong"}, {"b", "too"}}), "a: is wrong; b: too");
  const FieldErrors many(100, {"spec.memory.size", std::string(90, 'x')});
  const std::string text = Describe(many);
  EXPECT_LE(text.size(), 1024U);
  EXPECT_THAT(text, ::testing::EndsWith("; 91 more"));  // 9 × 110 bytes fit.
  EXPECT_EQ(Describe({{"a", std::string(2000, 'x')}}), "1 more");
}

}  // namespace
}  // namespace podcache::control
