// Live resize against a real API server; the test plays kubelet and cache.
#include <signal.h>

#include <algorithm>

#include "operator/client/api_error.h"
#include "tests/kube/operator/operator_fixture.h"

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

class ResizeKubeTest : public OperatorTest {
 protected:
  // Built-in rule: size × 1.25 + 128Mi. 64Mi → 208Mi, 256Mi → 448Mi, 6Gi → 7808Mi.
  void StartSmall() {
    ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"threads", {{"mode", "Fixed"}, {"count", 1}}}});
    StartPod("web");
  }
  void Resize(const std::string& size, int threads) {
    ApplySidecar(
        {{"memory", {{"size", size}}}, {"threads", {{"mode", "Fixed"}, {"count", threads}}}});
  }
  std::vector<std::string> LogAfter(const std::function<void()>& action) {
    const std::size_t before = node_->cache("web")->log().size();
    action();
    const auto log = node_->cache("web")->log();
    return {log.begin() + static_cast<std::ptrdiff_t>(before), log.end()};
  }
  json ContainerOf(const std::string& pod) {
    return cluster().Get(kube::kPods, ns_, pod)["spec"]["initContainers"][0];
  }
};

TEST_F(ResizeKubeTest, GrowsThePodFirstAndTakesSecondsAtMost) {
  StartSmall();
  const auto started = std::chrono::steady_clock::now();
  const auto log = LogAfter([&] {
    Resize("256Mi", 2);
    ASSERT_TRUE(WaitForSized("web"));
  });
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::seconds(10));
  EXPECT_THAT(log, Contains(Bytes("cgroup", 448)));
  EXPECT_THAT(log, Contains(Bytes("live", 256)));
  EXPECT_LT(std::find(log.begin(), log.end(), Bytes("cgroup", 448)),
            std::find(log.begin(), log.end(), Bytes("live", 256)));
  EXPECT_EQ(node_->cache("web")->state().threads_running, 2U);
  EXPECT_THAT(EventReasons(), ElementsAre("Resized"));
  EXPECT_EQ(ContainerOf("web")["resources"]["limits"]["memory"], "448Mi");
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 1U);
  ExpectNoViolations("web");
  EXPECT_THAT(OperatorProcess::Fetch(ports_.metrics, "/metrics"),
              HasSubstr("podcache_operator_resizes_total{direction=\"grow\",kind=\"CacheSidecar\","
                        "result=\"done\"} 1"));
}

// K02.
TEST_F(ResizeKubeTest, ShrinksTheCacheFirst) {
  ApplySidecar({{"memory", {{"size", "256Mi"}}}});
  StartPod("web");
  node_->cache("web")->Hold(true);
  const auto log = LogAfter([&] {
    ApplySidecar({{"memory", {{"size", "64Mi"}}}});
    ASSERT_TRUE(WaitForCondition("Resizing", "True", "WaitingForRelease"));
    EXPECT_EQ(OperatorWrites("pods/resize").size(), 0U) << "memory is not back yet";
    node_->cache("web")->Hold(false);
    ASSERT_TRUE(WaitForSized("web"));
  });
  EXPECT_THAT(log, ElementsAre(Bytes("live", 64), Bytes("cgroup", 208)));
  EXPECT_LT(node_->cache("web")->state().resident_bytes, 208 * kMi);
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 1U);
  ExpectNoViolations("web");
}

// K03 a.
TEST_F(ResizeKubeTest, DeferredGrowWaitsAndThenFinishes) {
  StartSmall();
  node_->AnswerResizesWith(ResizeAnswer::kDefer);
  Resize("256Mi", 1);
  ASSERT_TRUE(WaitForCondition("Resizing", "True", "Deferred"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 64 * kMi);
  EXPECT_EQ(Status()["pods"][0]["state"], "Deferred");
  EXPECT_EQ(Status()["pendingPods"], 1);
  node_->AnswerResizesWith(ResizeAnswer::kGrant);
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 256 * kMi);
  EXPECT_THAT(EventReasons(), testing::UnorderedElementsAre("ResizeDeferred", "Resized"));
  ExpectNoViolations("web");
}

// K03 a, with permission to recreate.
TEST_F(ResizeKubeTest, DeferredGrowEvictsWhereAllowed) {
  StartSmall();
  node_->AnswerResizesWith(ResizeAnswer::kDefer);
  ApplySidecar({{"memory", {{"size", "256Mi"}}},
                {"resize", {{"mode", "InPlaceOrRecreate"}, {"deferredTimeout", "2s"}}}});
  ASSERT_TRUE(WaitFor("eviction", [&] { return !OperatorWrites("pods/eviction").empty(); }));
}

// K03 b.
TEST_F(ResizeKubeTest, InfeasibleByConditionIsTriedOnce) {
  StartSmall();
  node_->AnswerResizesWith(ResizeAnswer::kInfeasible);
  Resize("6Gi", 1);
  ASSERT_TRUE(WaitForCondition("Resizing", "False", "Infeasible"));
  EXPECT_THAT(ConditionOf("Resizing")["message"].get<std::string>(), HasSubstr("enough capacity"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 64 * kMi);
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 1U);
  EXPECT_THAT(EventReasons(), ElementsAre("ResizeInfeasible"));
  // Back to what fits.
  node_->AnswerResizesWith(ResizeAnswer::kGrant);
  Resize("128Mi", 1);
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 128 * kMi);
  ExpectNoViolations("web");
}

// K03 e: the API server itself says no.
TEST_F(ResizeKubeTest, QuotaRefusesOnceForEachGeneration) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"threads", {{"mode", "Fixed"}, {"count", 1}}}});
  json pod = Pod("web");
  pod["spec"]["containers"][0]["resources"]["limits"] = {{"memory", "64Mi"}};
  ASSERT_EQ(CreatePod(pod).first, 201);
  ASSERT_TRUE(WaitForSized("web"));
  constexpr kube::ResourceType kResourceQuotas{"", "v1", "resourcequotas", "ResourceQuota", true};
  cluster().Apply(kResourceQuotas, {{"metadata", {{"name", "mem"}, {"namespace", ns_}}},
                                    {"spec", {{"hard", {{"limits.memory", "400Mi"}}}}}});
  // The quota controller is not there: its bookkeeping is played.
  const auto [code, body] = cluster().Send(
      "PATCH", "/api/v1/namespaces/" + ns_ + "/resourcequotas/mem/status",
      R"({"status":{"hard":{"limits.memory":"400Mi"},"used":{"limits.memory":"272Mi"}}})",
      "application/merge-patch+json");
  ASSERT_EQ(code, 200) << body;
  Resize("256Mi", 1);
  ASSERT_TRUE(WaitForCondition("Resizing", "False", "Infeasible"));
  EXPECT_THAT(ConditionOf("Resizing")["message"].get<std::string>(), HasSubstr("exceeded quota"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 64 * kMi);
  const auto attempts = OperatorWrites("pods/resize");
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].code, 403);
  // A pod event makes the operator look again, not try again.
  const double looks = Reconciles();
  cluster().Send("PATCH", "/api/v1/namespaces/" + ns_ + "/pods/web",
                 R"({"metadata":{"labels":{"x":"y"}}})", "application/merge-patch+json");
  ASSERT_TRUE(WaitFor("another look", [&] { return Reconciles() > looks; }));
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 1U);
  Resize("300Mi", 1);
  ASSERT_TRUE(
      WaitFor("one more attempt", [&] { return OperatorWrites("pods/resize").size() >= 2; }));
  EXPECT_THAT(EventReasons(), Contains("ResizeInfeasible"));
}

TEST_F(ResizeKubeTest, SomebodyElsesChangeIsFollowedAndNotUndone) {
  StartSmall();
  const auto patch = [&](const std::string& memory) {
    const auto done = cluster().api().Patch(
        {kube::kPods, ns_, "web", "resize"}, kube::PatchType::kStrategicMerge,
        json{{"spec",
              {{"initContainers", json::array({{{"name", "podcache"},
                                                {"resources",
                                                 {{"limits", {{"memory", memory}}},
                                                  {"requests", {{"memory", memory}}}}}}})}}}},
        {.field_manager = "vpa"});
    ASSERT_TRUE(done.ok()) << done.status();
  };
  patch("178Mi");
  ASSERT_TRUE(WaitForCondition("Resizing", "Unknown", "VPAConflict"));
  // (178 - 128) / 1.25 = 40
  ASSERT_TRUE(WaitFor("cache follows",
                      [&] { return node_->cache("web")->state().limit_bytes == 40 * kMi; }));
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 0U);
  EXPECT_THAT(EventReasons(), ElementsAre("VPAConflict"));
  patch("208Mi");
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 64 * kMi);
}

TEST_F(ResizeKubeTest, SuccessorFinishesWhatTheKilledOperatorBegan) {
  StartSmall();
  node_->AnswerResizesWith(ResizeAnswer::kIgnore);
  Resize("256Mi", 2);
  ASSERT_TRUE(
      WaitFor("resize was asked for", [&] { return OperatorWrites("pods/resize").size() == 1; }));
  operator_->Signal(SIGKILL);
  operator_->WaitForEnd(std::chrono::seconds(5));
  cluster().RemoveLease();  // Its holder cannot come back.
  node_->AnswerResizesWith(ResizeAnswer::kGrant);
  StartOperator();
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 256 * kMi);
  EXPECT_EQ(node_->cache("web")->state().threads_running, 2U);
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 1U);
  ExpectNoViolations("web");
}

TEST_F(ResizeKubeTest, RestartedCacheGetsItsSizeBack) {
  StartSmall();
  Resize("256Mi", 2);
  ASSERT_TRUE(WaitForSized("web"));
  node_->RestartCache("web");
  ASSERT_TRUE(WaitFor("size is back", [&] {
    const auto cache = node_->cache("web");
    return cache != nullptr && cache->state().limit_bytes == 256 * kMi &&
           cache->state().threads_running == 2;
  }));
  ExpectNoViolations("web");
}

// KEP-1287 does not say so: the uid in the patch keeps a new pod of the same name safe.
TEST_F(ResizeKubeTest, PatchOfAnotherUidIsRefused) {
  StartSmall();
  const auto refused = cluster().api().Patch(
      {kube::kPods, ns_, "web", "resize"}, kube::PatchType::kStrategicMerge,
      json{{"metadata", {{"uid", "00000000-0000-0000-0000-000000000000"}}},
           {"spec",
            {{"initContainers",
              json::array(
                  {{{"name", "podcache"}, {"resources", {{"limits", {{"memory", "300Mi"}}}}}}})}}}},
      {});
  const auto details = kube::GetApiErrorDetails(refused.status());
  ASSERT_TRUE(details) << refused.status();
  EXPECT_EQ(details->http_code, 422);
  EXPECT_TRUE(
      std::any_of(details->causes.begin(), details->causes.end(),
                  [](const kube::ApiErrorCause& cause) { return cause.field == "metadata.uid"; }));
}

// Twelve pods, three at a time.
TEST_F(ResizeKubeTest, ResizesAFewPodsAtATime) {
  operator_.reset();
  cluster().RemoveLease();
  StartOperator({"--max-concurrent-resizes=3"});
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  for (int i = 0; i < 12; ++i) ASSERT_EQ(CreatePod(Pod("web-" + std::to_string(i))).first, 201);
  ASSERT_TRUE(WaitFor("all run", [&] { return Status()["resizedPods"] == 12; }));
  node_->AnswerResizesWith(ResizeAnswer::kIgnore);
  ApplySidecar({{"memory", {{"size", "256Mi"}}}});
  ASSERT_TRUE(
      WaitFor("three are asked for", [&] { return OperatorWrites("pods/resize").size() == 3; }));
  ASSERT_TRUE(WaitForCondition("Resizing", "True", "Growing"));
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 3U);
  EXPECT_EQ(Status()["pendingPods"], 12);
  node_->AnswerResizesWith(ResizeAnswer::kGrant);
  ASSERT_TRUE(WaitForSized("all"));
  EXPECT_EQ(OperatorWrites("pods/resize").size(), 12U);
  for (int i = 0; i < 12; ++i) ExpectNoViolations("web-" + std::to_string(i));
}

TEST_F(ResizeKubeTest, NothingIsWrittenInSteadyState) {
  StartSmall();
  Resize("256Mi", 2);
  ASSERT_TRUE(WaitForSized("web"));
  const auto writes = [&] {
    std::size_t count = 0;
    for (const auto& entry : cluster().AuditOf(ns_)) {
      if (entry.agent.starts_with("podcache-operator")) ++count;
    }
    return count;
  };
  const std::size_t before = writes();
  // Looks without reason: labels of the pod, metadata of the object, another operator.
  for (int i = 0; i < 3; ++i) {
    cluster().Send("PATCH", "/api/v1/namespaces/" + ns_ + "/pods/web",
                   R"({"metadata":{"labels":{"x":")" + std::to_string(i) + R"("}}})",
                   "application/merge-patch+json");
  }
  operator_.reset();
  StartOperator();
  ASSERT_TRUE(WaitFor("the new operator has looked", [&] { return Reconciles() > 0; }));
  EXPECT_EQ(writes(), before);
}

}  // namespace
}  // namespace podcache::control
