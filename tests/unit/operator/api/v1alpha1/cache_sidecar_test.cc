#include "operator/api/v1alpha1/cache_sidecar.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::Pair;

json Minimal() {
  return json::parse(R"({
    "metadata": {"name": "web-l1", "namespace": "shop", "generation": 2},
    "spec": {"selector": {"matchLabels": {"app": "web"}}, "memory": {"size": "256Mi"}}})");
}

CacheSidecar ReadWithoutErrors(const json& object) {
  FieldErrors errors;
  CacheSidecar sidecar = CacheSidecarFromJson(object, &errors);
  EXPECT_THAT(errors, IsEmpty());
  return sidecar;
}

FieldErrors ErrorsOf(const json& object) {
  FieldErrors errors;
  CacheSidecarFromJson(object, &errors);
  return errors;
}

// Defaults: kubernetes.md section 1.1 and 1.3.
TEST(CacheSidecar, HasItsDefaults) {
  const CacheSidecar sidecar = ReadWithoutErrors(Minimal());
  EXPECT_EQ(sidecar.metadata.name, "web-l1");
  EXPECT_EQ(sidecar.metadata.namespace_name, "shop");
  EXPECT_EQ(sidecar.metadata.generation, 2);
  const CacheSidecarSpec& spec = sidecar.spec;
  EXPECT_EQ(spec.image, "");
  EXPECT_THAT(spec.selector.match_labels, ElementsAre(Pair("app", "web")));
  EXPECT_FALSE(spec.profile_ref);
  EXPECT_FALSE(spec.sizing);
  EXPECT_EQ(spec.memory.size_bytes, 256ULL << 20);
  EXPECT_EQ(spec.memory.max_item_size_bytes, 1ULL << 20);
  EXPECT_EQ(spec.threads.mode, ThreadsMode::kAuto);
  EXPECT_FALSE(spec.resources.cpu.request_milli);
  EXPECT_EQ(spec.max_connections, 4096);
  EXPECT_EQ(spec.resize.mode, ResizeMode::kInPlace);
  EXPECT_EQ(spec.resize.deferred_timeout, std::chrono::minutes(5));
  EXPECT_EQ(spec.qos, QosMode::kPreserve);
  EXPECT_TRUE(spec.listen.loopback);
  EXPECT_EQ(spec.listen.port, 11211);
  EXPECT_FALSE(spec.listen.unix_socket.enabled);
  EXPECT_TRUE(spec.update_running_pods);
}

TEST(CacheSidecar, ReadsEveryField) {
  json object = Minimal();
  object["spec"] = json::parse(R"({
    "image": "registry.example/podcached:1",
    "selector": {"matchExpressions": [{"key": "tier", "operator": "NotIn", "values": ["batch"]}]},
    "sizing": {"rules": [{"name": "a", "match": {"arch": ["arm64"], "pageSize": "64Ki", "nodeSelector": {"k": "v"}},
                          "threads": {"perCPUPercent": 100, "min": 2, "max": 8},
                          "memory": {"overheadPercent": 20, "overheadFixed": "64Mi"}}]},
    "memory": {"percentOfLimit": 80, "maxItemSize": "2Mi"},
    "threads": {"mode": "Fixed", "count": 2},
    "resources": {"cpu": {"request": "100m", "limit": "1.5"}, "memory": {"request": "1Gi", "limit": "2Gi"}},
    "maxConnections": 100,
    "resize": {"mode": "InPlaceOrRecreate", "deferredTimeout": "90s"},
    "extraArgs": ["-v"],
    "qos": "Explicit",
    "listen": {"loopback": false, "port": 11300,
               "unixSocket": {"enabled": true, "mountPath": "/cache", "containers": ["app"]}},
    "updateRunningPods": false})");
  const CacheSidecarSpec spec = ReadWithoutErrors(object).spec;
  EXPECT_EQ(spec.image, "registry.example/podcached:1");
  ASSERT_EQ(spec.selector.match_expressions.size(), 1U);
  EXPECT_EQ(spec.selector.match_expressions[0].op, SelectorOperator::kNotIn);
  EXPECT_THAT(spec.selector.match_expressions[0].values, ElementsAre("batch"));
  ASSERT_TRUE(spec.sizing);
  ASSERT_EQ(spec.sizing->rules.size(), 1U);
  const SizingRule& rule = spec.sizing->rules[0];
  EXPECT_THAT(rule.match.arch, ElementsAre("arm64"));
  EXPECT_EQ(rule.match.page_size_bytes, 65536U);
  EXPECT_THAT(rule.match.node_selector, ElementsAre(Pair("k", "v")));
  EXPECT_EQ(rule.threads, (SizingThreads{.per_cpu_percent = 100, .min = 2, .max = 8}));
  EXPECT_EQ(rule.memory,
            (SizingMemory{.overhead_percent = 20, .overhead_fixed_bytes = 64ULL << 20}));
  EXPECT_EQ(spec.memory.percent_of_limit, 80);
  EXPECT_FALSE(spec.memory.size_bytes);
  EXPECT_EQ(spec.memory.max_item_size_bytes, 2ULL << 20);
  EXPECT_EQ(spec.threads, (CacheThreads{.mode = ThreadsMode::kFixed, .count = 2}));
  EXPECT_EQ(spec.resources.cpu.limit_milli, 1500U);
  EXPECT_EQ(spec.resources.memory.request_bytes, 1ULL << 30);
  EXPECT_EQ(spec.max_connections, 100);
  EXPECT_EQ(spec.resize.mode, ResizeMode::kInPlaceOrRecreate);
  EXPECT_EQ(spec.resize.deferred_timeout, std::chrono::seconds(90));
  EXPECT_THAT(spec.extra_args, ElementsAre("-v"));
  EXPECT_EQ(spec.qos, QosMode::kExplicit);
  EXPECT_FALSE(spec.listen.loopback);
  EXPECT_EQ(spec.listen.unix_socket.mount_path, "/cache");
  EXPECT_FALSE(spec.update_running_pods);
}

TEST(CacheSidecar, WrittenIsReadBackUnchanged) {
  CacheSidecar sidecar = ReadWithoutErrors(Minimal());
  sidecar.spec.sizing.emplace().rules.emplace_back().name = "a";
  sidecar.spec.resources.memory.limit_bytes = 1500000000;
  sidecar.status.matched_pods = 3;
  sidecar.status.pods.push_back({.name = "web-1", .state = "Deferred", .message = "no room"});
  sidecar.status.conditions.push_back({.type = "Ready",
                                       .status = ConditionStatus::kFalse,
                                       .observed_generation = 2,
                                       .reason = "Progressing",
                                       .message = "1 pod is not at its size",
                                       .last_transition_time = "2026-11-30T10:00:00Z"});
  EXPECT_EQ(ReadWithoutErrors(ToJson(sidecar)), sidecar);
}

TEST(CacheSidecar, StatusCountsAreAlwaysWritten) {
  EXPECT_EQ(ToJson(CacheSidecarStatus{}), json::parse(R"({"observedGeneration": 0, "matchedPods": 0,
      "injectedPods": 0, "resizedPods": 0, "pendingPods": 0})"));
}

TEST(CacheSidecar, NamesWhatItCannotRead) {
  json object = Minimal();
  object["spec"]["memory"] = {{"size", "1GB"}, {"percentOfLimit", 96}};
  object["spec"]["threads"] = {{"mode", "Many"}, {"count", 1.5}};
  object["spec"]["listen"] = "everywhere";
  object["spec"]["extraArgs"] = {1};
  EXPECT_THAT(
      ErrorsOf(object),
      ElementsAre(
          FieldError{
              "spec.memory.size",
              "must be an amount of memory such as 256Mi or 1.5Gi, above 0 and at most 64Ti"},
          FieldError{"spec.memory.percentOfLimit", "must be a whole number from 10 to 95"},
          FieldError{"spec.threads.mode", "has no value Many"},
          FieldError{"spec.threads.count", "must be a whole number from 1 to 128"},
          FieldError{"spec.extraArgs[0]", "must be a string; quote a number"},
          FieldError{"spec.listen", "must be an object"}));
}

TEST(CacheSidecar, ReadsTheRestBesideAnError) {
  json object = Minimal();
  object["spec"]["threads"] = {{"mode", "Many"}};
  object["spec"]["maxConnections"] = 77;
  FieldErrors errors;
  const CacheSidecar sidecar = CacheSidecarFromJson(object, &errors);
  EXPECT_EQ(errors.size(), 1U);
  EXPECT_EQ(sidecar.spec.threads.mode, ThreadsMode::kAuto);
  EXPECT_EQ(sidecar.spec.max_connections, 77);
  EXPECT_EQ(sidecar.metadata.name, "web-l1");
}

TEST(CacheSidecar, ReportsWhatIsMissingOnce) {
  EXPECT_THAT(ErrorsOf(json::object()), ElementsAre(FieldError{"metadata", "is required"},
                                                    FieldError{"spec", "is required"}));
  EXPECT_THAT(ErrorsOf(json::parse("[]")), ElementsAre(FieldError{"object", "must be an object"}));
  json object = Minimal();
  object["spec"].erase("memory");
  EXPECT_THAT(ErrorsOf(object), ElementsAre(FieldError{"spec.memory", "is required"}));
}

TEST(CacheSidecar, IgnoresUnknownMembersAndNull) {
  json object = Minimal();
  object["spec"]["novelty"] = {{"a", 1}};
  object["spec"]["threads"] = nullptr;
  EXPECT_EQ(ReadWithoutErrors(object), ReadWithoutErrors(Minimal()));
}

TEST(CacheSidecar, BoundsLists) {
  json object = Minimal();
  object["spec"]["extraArgs"] = json(std::vector<std::string>(33, "-v"));
  EXPECT_THAT(ErrorsOf(object),
              ElementsAre(FieldError{"spec.extraArgs", "must be a list of at most 32 entries"}));
}

}  // namespace
}  // namespace podcache::control
