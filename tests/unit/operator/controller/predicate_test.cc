#include "operator/controller/predicate.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::kube {
namespace {

ObjectPtr Make(const std::string& json) {
  return std::make_shared<const Object>(nlohmann::json::parse(json));
}

const ObjectPtr kBefore = Make(R"({"metadata":{"uid":"u","resourceVersion":"1","generation":1,
    "labels":{"a":"b"}},"status":{"x":1}})");

bool Passes(const Predicate& predicate, const std::string& after) {
  return predicate({.before = kBefore, .after = Make(after)});
}

TEST(PredicateTest, StatusOnlyChangesAreDropped) {
  const Predicate predicate = SpecOrMetadataChanged();
  EXPECT_FALSE(Passes(predicate, R"({"metadata":{"uid":"u","resourceVersion":"2","generation":1,
      "labels":{"a":"b"}},"status":{"x":2}})"));
  EXPECT_TRUE(Passes(predicate, R"({"metadata":{"uid":"u","generation":2,"labels":{"a":"b"}}})"));
  EXPECT_TRUE(Passes(predicate, R"({"metadata":{"uid":"u","generation":1,"labels":{"a":"c"}}})"));
  EXPECT_TRUE(Passes(predicate, R"({"metadata":{"uid":"u","generation":1}})"));
  EXPECT_TRUE(Passes(predicate, R"({"metadata":{"uid":"u","generation":1,"labels":{"a":"b"},
      "annotations":{"podcache.dev/paused":"true"}}})"));
  EXPECT_TRUE(Passes(predicate, R"({"metadata":{"uid":"u","generation":1,"labels":{"a":"b"},
      "deletionTimestamp":"2026-11-30T10:00:00Z"}})"));
  EXPECT_TRUE(
      Passes(predicate, R"({"metadata":{"uid":"other","generation":1,"labels":{"a":"b"}}})"));
}

TEST(PredicateTest, AddsDeletesAndResyncsPass) {
  for (const Predicate& predicate : {SpecOrMetadataChanged(), VersionChanged(), Always()}) {
    EXPECT_TRUE(predicate({.before = nullptr, .after = kBefore}));
    EXPECT_TRUE(predicate({.before = kBefore, .after = nullptr}));
    EXPECT_TRUE(predicate({.before = kBefore, .after = kBefore}));
  }
}

TEST(PredicateTest, VersionChanged) {
  EXPECT_FALSE(Passes(VersionChanged(), R"({"metadata":{"resourceVersion":"1"}})"));
  EXPECT_TRUE(Passes(VersionChanged(), R"({"metadata":{"resourceVersion":"2"}})"));
}

}  // namespace
}  // namespace podcache::kube
