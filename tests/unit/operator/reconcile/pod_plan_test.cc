#include "operator/reconcile/pod_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/reconcile/born_rules.h"

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

constexpr std::uint64_t kMi = 1ULL << 20;
constexpr std::int64_t kNow = 1'796'000'000;

sizing::Rule Rule(const std::string& name, const std::string& arch, std::uint32_t percent,
                  std::uint64_t fixed_mi) {
  sizing::Rule rule;
  rule.name = name;
  if (!arch.empty()) rule.match.arch = {arch};
  rule.memory = {.overhead_percent = percent, .overhead_fixed_bytes = fixed_mi * kMi};
  rule.threads = {.per_cpu_percent = 100, .min = 1, .max = 16};
  return rule;
}

class PodPlanTest : public ::testing::Test {
 protected:
  PodPlanTest() {
    spec_.memory.size_bytes = 64 * kMi;
    pod_.container.running = true;
    pod_.container.spec = {208 * kMi, 208 * kMi, 50, 0};
    pod_.container.actual = pod_.container.spec;
    pod_.born_rules = rules_;
  }
  PodPlan Plan() {
    return PlanPod({.spec = spec_,
                    .rules = rules_,
                    .pod = pod_,
                    .host = host_,
                    .node_labels = labels_,
                    .last_patched = last_patched_,
                    .server_cgroup_limit_bytes = 0});
  }

  CacheSidecarSpec spec_;
  std::vector<sizing::Rule> rules_ = {Rule("arm", "arm64", 20, 128), Rule("amd", "amd64", 10, 64)};
  PodView pod_;
  std::optional<HostFacts> host_ = HostFacts{"amd64", 4096, 4};
  std::optional<std::map<std::string, std::string>> labels_;
  std::optional<ContainerAmounts> last_patched_;
};

TEST_F(PodPlanTest, RuleOfTheArchitectureDecides) {
  const PodPlan plan = Plan();
  EXPECT_EQ(plan.sized, Sized::kMatched);
  EXPECT_EQ(plan.rule_name, "amd");
  EXPECT_EQ(plan.target.cache_bytes, 64 * kMi);
  EXPECT_EQ(plan.target.amounts.memory_limit_bytes, 135 * kMi);  // 64 × 1.1 + 64 = 134.4
  EXPECT_EQ(plan.target.amounts.cpu_request_milli, 50U);
  EXPECT_EQ(plan.target.threads, 4U);  // 100 % of min(4, usable CPUs)
}

TEST_F(PodPlanTest, ThreadsFollowTheCpuLimit) {
  spec_.resources.cpu.limit_milli = 1500;
  EXPECT_EQ(Plan().target.threads, 2U);  // 1.5 rounded half up
}

TEST_F(PodPlanTest, NoMatchUsesTheBuiltInRuleAndSaysSo) {
  host_->arch = "riscv64";
  pod_.born_rules = rules_;
  const PodPlan plan = Plan();
  EXPECT_EQ(plan.sized, Sized::kNoMatch);
  EXPECT_THAT(plan.message, HasSubstr("riscv64"));
  EXPECT_EQ(plan.target.amounts.memory_limit_bytes, 208 * kMi);
}

TEST_F(PodPlanTest, UnknownHostLeavesThePodAloneUnlessTheTableLeavesNoChoice) {
  host_.reset();
  PodPlan plan = Plan();
  EXPECT_TRUE(plan.impossible);
  EXPECT_EQ(plan.sized, Sized::kArchUnknown);
  EXPECT_EQ(plan.target.amounts, pod_.container.spec);
  rules_ = {Rule("all", "", 10, 64)};
  pod_.born_rules = rules_;
  plan = Plan();
  EXPECT_FALSE(plan.impossible);
  EXPECT_EQ(plan.target.amounts.memory_limit_bytes, 135 * kMi);
}

TEST_F(PodPlanTest, TheRuleOfBirthCountsWhereItIsStricter) {
  pod_.born_rules = {Rule("old", "", 50, 64)};
  EXPECT_EQ(Plan().target.amounts.memory_limit_bytes, 160 * kMi);  // 64 × 1.5 + 64
  pod_.born_rules = {Rule("old", "", 5, 32)};
  EXPECT_EQ(Plan().target.amounts.memory_limit_bytes, 135 * kMi);
}

TEST_F(PodPlanTest, RulesByNodeLabelsNeedTheLabels) {
  sizing::Rule big = Rule("big", "", 100, 0);
  big.match.node_selector = {{"pool", "big"}};
  rules_.insert(rules_.begin(), big);
  PodPlan plan = Plan();
  EXPECT_EQ(plan.rule_name, "amd");
  EXPECT_THAT(plan.message, HasSubstr("may not read nodes"));
  labels_ = std::map<std::string, std::string>{{"pool", "big"}};
  plan = Plan();
  EXPECT_EQ(plan.rule_name, "big");
  EXPECT_EQ(plan.message, "");
}

TEST_F(PodPlanTest, TooSmallALimitNamesBothNumbers) {
  spec_.resources.memory.limit_bytes = 108 * kMi;
  PodPlan plan = Plan();
  EXPECT_EQ(plan.sized, Sized::kLimitTooSmall);
  EXPECT_EQ(plan.target.cache_bytes, 44 * kMi * 100 / 110);  // (108 - 64) / 1.1
  EXPECT_THAT(plan.message, HasSubstr("108Mi"));
  EXPECT_THAT(plan.message, HasSubstr("135Mi"));
  EXPECT_FALSE(plan.impossible);
  spec_.resources.memory.limit_bytes = 64 * kMi;
  EXPECT_TRUE(Plan().impossible);
}

TEST_F(PodPlanTest, GuaranteedPodsStaySo) {
  pod_.guaranteed = true;
  PodPlan plan = Plan();
  EXPECT_EQ(plan.target.amounts.cpu_limit_milli, 50U);
  EXPECT_EQ(plan.target.amounts.cpu_request_milli, 50U);
  spec_.qos = QosMode::kExplicit;
  plan = Plan();
  EXPECT_EQ(plan.target.amounts.cpu_limit_milli, 0U);
}

// What differs from what we gave last is somebody else's.
TEST_F(PodPlanTest, ForeignChangeIsRecognisedByTheAnnotation) {
  const ContainerAmounts wanted = Plan().target.amounts;
  EXPECT_FALSE(Plan().foreign_change) << "no annotation: never set by us";
  pod_.applied_resources = AppliedResourcesText(wanted);
  pod_.container.spec.memory_limit_bytes = 108 * kMi;
  pod_.container.actual = pod_.container.spec;
  PodPlan plan = Plan();
  EXPECT_TRUE(plan.foreign_change);
  EXPECT_EQ(plan.target.amounts, pod_.container.spec);
  EXPECT_EQ(plan.target.cache_bytes, 44 * kMi * 100 / 110);
  // Our own later write, which the annotation does not show yet.
  last_patched_ = pod_.container.spec;
  EXPECT_FALSE(Plan().foreign_change);
  last_patched_ = wanted;
  EXPECT_TRUE(Plan().foreign_change);
  // A new wish of the object is ours again.
  spec_.memory.size_bytes = 128 * kMi;
  EXPECT_FALSE(Plan().foreign_change);
}

json PodJson() {
  return json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop", "uid": "u", "resourceVersion": "7", "generation": 3,
      "labels": {"app": "web"}, "managedFields": [{}], "ownerReferences": [{}],
      "annotations": {"podcache.dev/injected-by": "shop/web-l1", "podcache.dev/identity": "n",
                      "podcache.dev/config-hash": "h", "vpaUpdates": "x"}},
    "spec": {"nodeName": "node", "nodeSelector": {"a": "b"}, "volumes": [{}],
      "containers": [{"name": "app", "image": "x"}],
      "initContainers": [{"name": "podcache", "image": "y",
        "env": [{"name": "PODCACHE_POD_CONFIG", "value": "{\"rules\":[{\"name\":\"r\",\"match\":{\"arch\":[\"amd64\"],\"pageSizeBytes\":4096,\"nodeSelector\":{\"k\":\"v\"}},\"threads\":{\"perCPUPercent\":75,\"min\":2,\"max\":8},\"memory\":{\"overheadPercent\":10,\"overheadFixedBytes\":67108864}}]}"}],
        "resources": {"requests": {"cpu": "50m", "memory": "208Mi"}, "limits": {"memory": "208Mi"}}}]},
    "status": {"phase": "Running", "qosClass": "Burstable", "podIP": "10.0.0.5", "hostIP": "1.2.3.4",
      "conditions": [
        {"type": "Ready", "status": "True"},
        {"type": "PodResizePending", "status": "True", "reason": "Deferred", "message": "no room",
         "observedGeneration": 3, "lastTransitionTime": "2026-11-29T10:53:20Z"}],
      "initContainerStatuses": [{"name": "podcache", "containerID": "c1", "state": {"running": {}},
        "allocatedResources": {"cpu": "50m", "memory": "208Mi"},
        "resources": {"requests": {"cpu": "50m", "memory": "144Mi"}, "limits": {"memory": "144Mi"}}}]}})");
}

TEST(PodViewTest, ReadsWhatMattersAlsoFromTheShrunkPod) {
  kube::Object pod(PodJson());
  for (const bool shrunk : {false, true}) {
    if (shrunk) ShrinkPod(pod);
    const PodView view = ReadPod(pod, kNow);
    EXPECT_EQ(view.key.ToString(), "shop/web");
    EXPECT_EQ(view.resource_version, "7");
    EXPECT_TRUE(view.injected());
    EXPECT_TRUE(view.native);
    EXPECT_TRUE(view.vpa_managed);
    EXPECT_EQ(view.nonce, "n");
    EXPECT_EQ(view.node_selector.at("a"), "b");
    EXPECT_EQ(view.container.spec.memory_limit_bytes, 208 * kMi);
    EXPECT_EQ(view.container.actual->memory_limit_bytes, 144 * kMi);
    EXPECT_EQ(view.container.allocated->memory_request_bytes, 208 * kMi);
    EXPECT_TRUE(view.container.running);
    EXPECT_EQ(view.container.pending, PendingResize::kDeferred);
    EXPECT_EQ(view.container.pending_message, "no room");
    EXPECT_EQ(view.container.pending_for.count(),
              kNow - 1'795'949'600);  // date -d 2026-11-29T10:53:20Z +%s
    ASSERT_EQ(view.born_rules.size(), 1U);
    EXPECT_EQ(view.born_rules[0].match.page_size_bytes, 4096U);
    EXPECT_EQ(view.born_rules[0].threads.max, 8U);
    EXPECT_EQ(view.born_rules[0].memory.overhead_fixed_bytes, 64 * kMi);
  }
  EXPECT_FALSE(pod.json().at("spec").contains("volumes"));
  EXPECT_FALSE(pod.json().at("status").contains("hostIP"));
}

TEST(PodViewTest, ConditionOfAnEarlierSpecIsPassedOver) {
  json pod = PodJson();
  pod["metadata"]["generation"] = 4;
  EXPECT_EQ(ReadPod(kube::Object(pod), kNow).container.pending, PendingResize::kNone);
}

TEST(PodViewTest, OddPodsDoNotThrow) {
  for (
      const char* text :
      {"{}", R"({"metadata": 3, "spec": "x", "status": []})",
       R"({"spec": {"initContainers": [1, {"name": "podcache", "env": [2, {"name": "PODCACHE_POD_CONFIG", "value": "["}]}]}})"}) {
    EXPECT_NO_THROW(ReadPod(kube::Object(json::parse(text)), kNow)) << text;
  }
}

}  // namespace
}  // namespace podcache::control
