// Objects that cannot be followed, profiles, and the life of the operator's process.
#include <signal.h>

#include "tests/kube/operator/operator_fixture.h"

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

using LifecycleKubeTest = OperatorTest;

json Rule(const std::string& name, int percent, const std::string& fixed) {
  return {{"name", name}, {"memory", {{"overheadPercent", percent}, {"overheadFixed", fixed}}}};
}

void ApplyProfile(TestCluster& cluster, const std::string& name, const json& rules) {
  cluster.Apply(kCacheProfiles, {{"metadata", {{"name", name}}}, {"spec", {{"rules", rules}}}});
}

TEST_F(LifecycleKubeTest, UnknownProfileIsSaidAndMendedByCreatingIt) {
  const std::string name = ns_;  // Cluster-scoped: a name of this test alone.
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"profileRef", {{"name", name}}}});
  ASSERT_TRUE(WaitForCondition("Ready", "False", "InvalidSpec"));
  EXPECT_THAT(ConditionOf("Ready")["message"].get<std::string>(),
              HasSubstr("CacheProfile " + name + " does not exist; create it"));
  ASSERT_TRUE(WaitFor("event", [&] { return !EventReasons().empty(); }));
  EXPECT_THAT(EventReasons(), ElementsAre("ProfileMissing"));
  EXPECT_THAT(
      OperatorProcess::Fetch(ports_.metrics, "/metrics"),
      HasSubstr(
          "controller_runtime_terminal_reconcile_errors_total{controller=\"cachesidecar\"} "));

  ApplyProfile(cluster(), name, json::array({Rule("any", 10, "64Mi")}));
  ASSERT_TRUE(WaitForCondition("Ready", "True", "AllPodsSized"));
  ASSERT_TRUE(WaitFor("profile is counted", [&] {
    const json status = cluster().Get(kCacheProfiles, "", name).value("status", json::object());
    return status.value("usedBy", 0) == 1 && status.value("ruleCount", 0) == 1;
  }));
  (void)cluster().api().Delete({kCacheProfiles, "", name, ""}, {});
}

TEST_F(LifecycleKubeTest, UnreachableRuleIsShown) {
  ApplyProfile(cluster(), ns_, json::array({Rule("all", 10, "64Mi"), Rule("never", 10, "64Mi")}));
  ASSERT_TRUE(WaitFor("condition", [&] {
    const json status = cluster().Get(kCacheProfiles, "", ns_).value("status", json::object());
    if (!status.contains("conditions")) return false;
    const json& accepted = status["conditions"][0];
    return accepted["type"] == "Accepted" && accepted["reason"] == "UnreachableRule" &&
           accepted["message"].get<std::string>().find("never") != std::string::npos;
  }));
  (void)cluster().api().Delete({kCacheProfiles, "", ns_, ""}, {});
}

// A change of the profile reaches running pods: more overhead, larger limit, same cache.
TEST_F(LifecycleKubeTest, ChangedProfileResizesPods) {
  ApplyProfile(cluster(), ns_, json::array({Rule("any", 10, "64Mi")}));
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"profileRef", {{"name", ns_}}}});
  StartPod("web");
  const auto limit = [&] {
    return cluster()
        .Get(kube::kPods, ns_, "web")["spec"]["initContainers"][0]["resources"]["limits"]["memory"]
        .get<std::string>();
  };
  EXPECT_EQ(limit(), "135Mi");  // 64 × 1.1 + 64 = 134.4
  ApplyProfile(cluster(), ns_, json::array({Rule("any", 50, "64Mi")}));
  ASSERT_TRUE(WaitFor("limit follows", [&] { return limit() == "160Mi"; }));
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 64 * kMi);
  (void)cluster().api().Delete({kCacheProfiles, "", ns_, ""}, {});
}

// An explicit limit below what the rule asks for: the largest size that fits, and both numbers
// said.
TEST_F(LifecycleKubeTest, TooSmallALimitIsSaid) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"resources", {{"memory", {{"limit", "178Mi"}}}}}});
  ASSERT_EQ(CreatePod(Pod("web")).first, 201);
  ASSERT_TRUE(WaitForCondition("Sized", "False", "LimitTooSmall"));
  const std::string message = ConditionOf("Sized")["message"];
  EXPECT_THAT(message, HasSubstr("178Mi holds a cache of 40Mi"));
  EXPECT_THAT(message, HasSubstr("64Mi needs 208Mi"));
  ASSERT_TRUE(WaitFor("cache runs", [&] { return node_->cache("web") != nullptr; }));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 40 * kMi);
}

TEST_F(LifecycleKubeTest, PausedObjectIsLeftAlone) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  StartPod("web");
  cluster().Send("PATCH", "/apis/podcache.dev/v1alpha1/namespaces/" + ns_ + "/cachesidecars/web-l1",
                 R"({"metadata":{"annotations":{"podcache.dev/paused":"true"}}})",
                 "application/merge-patch+json");
  ApplySidecar({{"memory", {{"size", "256Mi"}}}});
  ApplySidecar({{"memory", {{"size", "64Mi"}}}},
               "other");  // Seen after it: so the first was as well.
  EXPECT_TRUE(OperatorWrites("pods/resize").empty());
  cluster().Send("PATCH", "/apis/podcache.dev/v1alpha1/namespaces/" + ns_ + "/cachesidecars/web-l1",
                 R"({"metadata":{"annotations":{"podcache.dev/paused":null}}})",
                 "application/merge-patch+json");
  ASSERT_TRUE(WaitForSized("web"));
  EXPECT_EQ(node_->cache("web")->state().limit_bytes, 256 * kMi);
}

// K10: labels and annotations of the object are the user's own business.
TEST_F(LifecycleKubeTest, ForeignLabelsOfTheObjectGoNowhere) {
  cluster().Apply(
      kCacheSidecars,
      {{"metadata",
        {{"name", "web-l1"},
         {"namespace", ns_},
         {"labels",
          {{"app.kubernetes.io/name", "foo"},
           {"app.kubernetes.io/managed-by", "Helm"},
           {"argocd.argoproj.io/instance", "x"}}}}},
       {"spec",
        {{"selector", {{"matchLabels", {{"app", "web"}}}}}, {"memory", {{"size", "64Mi"}}}}}});
  ASSERT_TRUE(WaitForCondition("Ready", "True", "AllPodsSized"));
  const json pod = CreatePod(Pod("web")).second;
  EXPECT_EQ(
      pod["metadata"]["labels"],
      json({{"app", "web"}, {"podcache.dev/inject", "true"}, {"podcache.dev/sidecar", "web-l1"}}));
}

TEST_F(LifecycleKubeTest, DeletedObjectLeavesPodsRunning) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  StartPod("web");
  const json before = cluster().Get(kube::kPods, ns_, "web");
  ASSERT_TRUE(cluster().api().Delete({kCacheSidecars, ns_, "web-l1", ""}, {}).ok());
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"selector", {{"matchLabels", {{"app", "else"}}}}}},
               "other");
  const json after = cluster().Get(kube::kPods, ns_, "web");
  EXPECT_EQ(after["metadata"]["resourceVersion"], before["metadata"]["resourceVersion"]);
}

TEST_F(LifecycleKubeTest, StopsInOrderOnSigterm) {
  operator_->Signal(SIGTERM);
  EXPECT_EQ(operator_->WaitForEnd(std::chrono::seconds(30)), 0);
  const json lease = cluster().Get(kube::kLeases, "podcache-system", "podcache-operator");
  EXPECT_EQ(lease["spec"].value("holderIdentity", ""), "") << "released";
}

TEST_F(LifecycleKubeTest, LostLeaseEndsTheProcess) {
  const auto [code, body] = cluster().Send(
      "PATCH", "/apis/coordination.k8s.io/v1/namespaces/podcache-system/leases/podcache-operator",
      R"({"spec":{"holderIdentity":"somebody-else"}})", "application/merge-patch+json");
  ASSERT_EQ(code, 200) << body;
  EXPECT_EQ(operator_->WaitForEnd(std::chrono::seconds(30)), 1);
}

// Standbys are ready and serve the webhook; when the leader goes, the next one leads.
TEST_F(LifecycleKubeTest, StandbyTakesOver) {
  Ports others;
  others.cache_admin = ports_.cache_admin;
  OperatorProcess standby(cluster(), others);
  ASSERT_TRUE(standby.WaitUntilReady());
  const auto leads = [](std::uint16_t metrics) {
    return OperatorProcess::Fetch(metrics, "/metrics")
               .find("leader_election_master_status{name=\"podcache-operator\"} 1") !=
           std::string::npos;
  };
  EXPECT_TRUE(leads(ports_.metrics));
  EXPECT_FALSE(leads(others.metrics));
  cluster().InstallWebhook(others.webhook);
  ASSERT_TRUE(WaitFor(
      "leader publishes the CA again",
      [] {
        const auto found =
            cluster().Get(kube::kMutatingWebhookConfigurations, "", "podcache-injector");
        return found["webhooks"][0]["clientConfig"].contains("caBundle");
      },
      std::chrono::seconds(60)));
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  EXPECT_TRUE(CreatePod(Pod("web")).second["spec"].contains("initContainers"))
      << "served by the standby";
  operator_.reset();
  ASSERT_TRUE(WaitFor("standby leads", [&] { return leads(others.metrics); }));
}

TEST_F(LifecycleKubeTest, WatchesOnlyTheNamespacesGiven) {
  operator_.reset();
  StartOperator({"--watch-namespaces=" + ns_});
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  StartPod("web");
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"profileRef", {{"name", "default"}}}});
  ASSERT_TRUE(WaitForCondition("Ready", "False", "InvalidSpec"));
  EXPECT_THAT(ConditionOf("Ready")["message"].get<std::string>(),
              HasSubstr("use spec.sizing.rules"));
}

}  // namespace
}  // namespace podcache::control
