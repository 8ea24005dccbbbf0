// The webhook as the API server uses it.
#include "tests/kube/operator/operator_fixture.h"

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;

using InjectionKubeTest = OperatorTest;

// The cache container of a pod; null without one, or where there is no pod at all.
json Ours(const json& pod) {
  if (!pod.contains(json::json_pointer("/spec/initContainers"))) return nullptr;
  for (const json& container : pod["spec"]["initContainers"]) {
    if (container["name"] == "podcache") return container;
  }
  return nullptr;
}

// K05 and K06, as the API server made the pods.
TEST_F(InjectionKubeTest, PodsKeepTheirQosClass) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  json guaranteed = Pod("guaranteed");
  guaranteed["spec"]["containers"][0]["resources"] = json::parse(
      R"({"requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}})");
  json best_effort = Pod("best-effort");
  best_effort["spec"]["containers"][0].erase("resources");
  json job = Pod("job");
  job["spec"]["restartPolicy"] = "Never";

  const std::vector<std::tuple<json, std::string>> cases = {{guaranteed, "Guaranteed"},
                                                            {Pod("burstable"), "Burstable"},
                                                            {best_effort, "Burstable"},
                                                            {job, "Burstable"}};
  for (const auto& [wanted, qos] : cases) {
    const auto [code, pod] = CreatePod(wanted);
    ASSERT_EQ(code, 201) << pod;
    EXPECT_EQ(pod["status"]["qosClass"], qos) << wanted["metadata"]["name"];
    const json ours = Ours(pod);
    ASSERT_TRUE(ours.is_object());
    EXPECT_EQ(pod["spec"]["initContainers"][0]["name"], "podcache");
    EXPECT_EQ(ours["restartPolicy"], "Always");
    EXPECT_TRUE(ours["resources"]["requests"].contains("cpu"));
    EXPECT_EQ(ours["resources"]["limits"]["memory"], "208Mi");
  }
}

TEST_F(InjectionKubeTest, RestrictedNamespaceTakesTheSidecar) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  const auto [code, body] = cluster().Send(
      "PATCH", "/api/v1/namespaces/" + ns_,
      R"({"metadata":{"labels":{"pod-security.kubernetes.io/enforce":"restricted"}}})",
      "application/merge-patch+json");
  ASSERT_EQ(code, 200) << body;
  json pod = Pod("web");
  pod["spec"]["securityContext"] = {{"runAsNonRoot", true},
                                    {"seccompProfile", {{"type", "RuntimeDefault"}}}};
  pod["spec"]["containers"][0]["securityContext"] = {{"allowPrivilegeEscalation", false},
                                                     {"capabilities", {{"drop", {"ALL"}}}}};
  const auto [created, answer] = CreatePod(pod);
  EXPECT_EQ(created, 201) << answer;
  EXPECT_TRUE(Ours(answer).is_object());
}

TEST_F(InjectionKubeTest, PodsThatCannotHaveItAreLeftAloneOrRefused) {
  EXPECT_TRUE(Ours(CreatePod(Pod("nobody-selects-me")).second).is_null());
  const auto [code, answer] = CreatePod(Pod("required", "required"));
  EXPECT_EQ(code, 403);
  EXPECT_THAT(answer["message"].get<std::string>(),
              HasSubstr("no CacheSidecar in namespace " + ns_));

  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  json conflict = Pod("conflict");
  conflict["spec"]["containers"][0]["ports"] = json::array({{{"containerPort", 9150}}});
  EXPECT_TRUE(Ours(CreatePod(conflict).second).is_null());
  EXPECT_TRUE(Ours(CreatePod(Pod("fine", "required")).second).is_object());
  EXPECT_TRUE(Ours(CreatePod(Pod("no", "false")).second).is_null());

  // Matched but without the cache: shown and told, never evicted.
  ASSERT_TRUE(WaitForCondition("InjectionReady", "False", "PodsNotInjected"));
  ASSERT_TRUE(WaitFor("event", [&] {
    const auto reasons = EventReasons();
    return std::count(reasons.begin(), reasons.end(), "PodNotInjected") == 2;
  }));
  // Statuses are a second apart.
  ASSERT_TRUE(WaitFor("counts", [&] {
    const json status = Status();
    return status["matchedPods"] == 3 && status["injectedPods"] == 1;
  }));
}

TEST_F(InjectionKubeTest, SocketVolumeReachesTheApp) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}, {"listen", {{"unixSocket", {{"enabled", true}}}}}});
  const json pod = CreatePod(Pod("web")).second;
  ASSERT_TRUE(Ours(pod).is_object()) << pod;
  EXPECT_THAT(
      pod["spec"]["containers"][0]["volumeMounts"].dump(),
      HasSubstr(R"("mountPath":"/var/run/podcache","name":"podcache-socket","readOnly":true)"));
}

// While nobody serves the webhook only pods that insist are refused.
TEST_F(InjectionKubeTest, WithTheOperatorGoneOnlyRequiredPodsAreRefused) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  operator_.reset();
  EXPECT_EQ(CreatePod(Pod("web")).first, 201);
  EXPECT_EQ(CreatePod(Pod("insists", "required")).first, 500);
}

TEST_F(InjectionKubeTest, MetricsOfTheWebhookAndTheOperator) {
  ApplySidecar({{"memory", {{"size", "64Mi"}}}});
  CreatePod(Pod("web"));
  const std::string text = OperatorProcess::Fetch(ports_.metrics, "/metrics");
  for (const char* line :
       {"podcache_operator_injections_total{result=\"injected\"} 1",
        "podcache_operator_injections_total{result=\"refused\"} 0",
        "podcache_operator_resizes_total{direction=\"grow\",kind=\"CacheSidecar\",result=\"done\"} "
        "0",
        "controller_runtime_webhook_requests_total{code=\"200\",webhook=\"/mutate\"} 1",
        "controller_runtime_webhook_requests_in_flight{webhook=\"/mutate\"} 0",
        "leader_election_master_status{name=\"podcache-operator\"} 1",
        "controller_runtime_reconcile_total{controller=\"cacheprofile\",result=\"error\"} 0",
        "podcache_operator_managed{kind=\"CacheSidecar\",ready=\"false\"} ", "process_open_fds ",
        "rest_client_requests_total{"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

}  // namespace
}  // namespace podcache::control
