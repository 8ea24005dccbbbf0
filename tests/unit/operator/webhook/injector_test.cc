#include "operator/webhook/injector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::control {
namespace {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

json WebPod() {
  return json::parse(R"({
    "apiVersion": "v1", "kind": "Pod",
    "metadata": {"name": "web", "namespace": "shop",
                 "labels": {"app": "web", "podcache.dev/inject": "true"}},
    "spec": {"containers": [{"name": "app", "image": "app:1", "resources": {
      "requests": {"cpu": "1", "memory": "1Gi"}, "limits": {"cpu": "1", "memory": "1Gi"}}}]}})");
}

CacheSidecar Sidecar(const std::string& name = "web-l1", const std::string& extra_spec = "{}") {
  json object = {
      {"metadata",
       {{"name", name},
        {"namespace", "shop"},
        {"generation", 1},
        {"creationTimestamp", "2026-11-30T10:00:00Z"}}},
      {"spec",
       {{"selector", {{"matchLabels", {{"app", "web"}}}}}, {"memory", {{"size", "64Mi"}}}}}};
  object["spec"].merge_patch(json::parse(extra_spec));
  FieldErrors errors;
  CacheSidecar sidecar = CacheSidecarFromJson(object, &errors);
  EXPECT_TRUE(errors.empty()) << Describe(errors);
  return sidecar;
}

class InjectorTest : public ::testing::Test {
 protected:
  InjectionResult Run(const json& pod) {
    std::vector<const CacheSidecar*> pointers;
    for (const CacheSidecar& sidecar : sidecars_) pointers.push_back(&sidecar);
    return Inject(
        {.pod = pod,
         .ns = "shop",
         .sidecars = pointers,
         .profiles = {},
         .default_image = "podcached:1",
         .admin_ca_pem = "CA",
         .nonce = "0123",
         .identity_hex = [](std::string_view nonce) { return "secret-of-" + std::string(nonce); },
         .native_sidecars = native_});
  }

  // The pod with the patch applied; also checks that a second injection changes nothing.
  json Injected(const json& pod) {
    result_ = Run(pod);
    EXPECT_EQ(result_.outcome, InjectionOutcome::kInjected);
    if (result_.outcome != InjectionOutcome::kInjected) return pod;
    const json patched = pod.patch(json::parse(result_.patch));
    const InjectionResult again = Run(patched);
    EXPECT_EQ(again.outcome, InjectionOutcome::kUnchanged);
    EXPECT_EQ(again.patch, "");
    EXPECT_THAT(again.warnings, IsEmpty());
    return patched;
  }

  void ExpectLeftAlone(const json& pod, const std::string& warning) {
    const InjectionResult result = Run(pod);
    EXPECT_EQ(result.outcome, InjectionOutcome::kSkipped);
    EXPECT_EQ(result.patch, "");
    EXPECT_THAT(result.warnings, ElementsAre(HasSubstr(warning)));
    json required = pod;
    required["metadata"]["labels"]["podcache.dev/inject"] = "required";
    const InjectionResult refused = Run(required);
    EXPECT_EQ(refused.outcome, InjectionOutcome::kRefused);
    EXPECT_THAT(refused.message, HasSubstr(warning));
  }

  std::vector<CacheSidecar> sidecars_ = {Sidecar()};
  bool native_ = true;
  InjectionResult result_;
};

// K05: stays Guaranteed; our entry first, always restarted, resizable without restart.
TEST_F(InjectorTest, GuaranteedPodStaysSo) {
  const json pod = Injected(WebPod());
  const json& ours = pod["spec"]["initContainers"][0];
  EXPECT_EQ(ours["name"], "podcache");
  EXPECT_EQ(ours["restartPolicy"], "Always");
  EXPECT_EQ(ours["image"], "podcached:1");
  // 64Mi × 1.25 + 128Mi under the built-in rule.
  EXPECT_EQ(ours["resources"]["limits"], json({{"cpu", "50m"}, {"memory", "208Mi"}}));
  EXPECT_EQ(ours["resources"]["requests"], ours["resources"]["limits"]);
  EXPECT_EQ(ours["resizePolicy"],
            json::parse(R"([{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                            {"resourceName": "memory", "restartPolicy": "NotRequired"}])"));
  EXPECT_FALSE(ours.contains("readinessProbe"));
  EXPECT_FALSE(ours.contains("lifecycle"));
  EXPECT_EQ(ours["startupProbe"]["periodSeconds"], 1);
  EXPECT_THAT(result_.warnings, IsEmpty());
}

TEST_F(InjectorTest, RestrictedSecurityContext) {
  const json ours = Injected(WebPod())["spec"]["initContainers"][0];
  const json& context = ours["securityContext"];
  EXPECT_EQ(context["runAsNonRoot"], true);
  EXPECT_EQ(context["runAsUser"], 65532);
  EXPECT_EQ(context["allowPrivilegeEscalation"], false);
  EXPECT_EQ(context["readOnlyRootFilesystem"], true);
  EXPECT_EQ(context["capabilities"]["drop"], json::array({"ALL"}));
  EXPECT_EQ(context["seccompProfile"]["type"], "RuntimeDefault");
}

// HPA: the CPU request is there, small, and no limit throttles the cache.
TEST_F(InjectorTest, BurstablePodGetsACpuRequest) {
  json pod = WebPod();
  pod["spec"]["containers"][0]["resources"] = {{"requests", {{"cpu", "1"}}}};
  const json ours = Injected(pod)["spec"]["initContainers"][0];
  EXPECT_EQ(ours["resources"]["requests"], json({{"cpu", "50m"}, {"memory", "208Mi"}}));
  EXPECT_EQ(ours["resources"]["limits"], json({{"memory", "208Mi"}}));
  EXPECT_THAT(result_.warnings, IsEmpty());
}

TEST_F(InjectorTest, BestEffortPodIsWarned) {
  json pod = WebPod();
  pod["spec"]["containers"][0].erase("resources");
  Injected(pod);
  EXPECT_THAT(result_.warnings, ElementsAre(HasSubstr("Burstable")));
}

TEST_F(InjectorTest, LimitsWithoutRequestsAreGuaranteedToo) {
  json pod = WebPod();
  pod["spec"]["containers"][0]["resources"].erase("requests");
  const json ours = Injected(pod)["spec"]["initContainers"][0];
  EXPECT_EQ(ours["resources"]["requests"]["cpu"], ours["resources"]["limits"]["cpu"]);
}

TEST_F(InjectorTest, OneBurstableInitContainerMakesThePodBurstable) {
  json pod = WebPod();
  pod["spec"]["initContainers"] = json::array({{{"name", "setup"}}});
  const json patched = Injected(pod);
  EXPECT_FALSE(patched["spec"]["initContainers"][0]["resources"]["limits"].contains("cpu"));
  EXPECT_EQ(patched["spec"]["initContainers"][0]["name"], "podcache") << "first of all";
  EXPECT_EQ(patched["spec"]["initContainers"][1]["name"], "setup");
}

TEST_F(InjectorTest, QosExplicitTakesResourcesAsGiven) {
  sidecars_ = {
      Sidecar("web-l1", R"({"qos": "Explicit", "resources": {"cpu": {"request": "100m"}}})")};
  const json ours = Injected(WebPod())["spec"]["initContainers"][0];
  EXPECT_EQ(ours["resources"]["requests"]["cpu"], "100m");
  EXPECT_FALSE(ours["resources"]["limits"].contains("cpu"));
}

TEST_F(InjectorTest, LabelsAnnotationsAndEnvironmentOfTheContract) {
  const json pod = Injected(WebPod());
  EXPECT_EQ(pod["metadata"]["labels"]["podcache.dev/sidecar"], "web-l1");
  EXPECT_EQ(pod["metadata"]["labels"]["app"], "web");
  const json& annotations = pod["metadata"]["annotations"];
  EXPECT_EQ(annotations["podcache.dev/injected-by"], "shop/web-l1");
  EXPECT_EQ(annotations["podcache.dev/identity"], "0123");
  EXPECT_FALSE(annotations["podcache.dev/config-hash"].get<std::string>().empty());
  EXPECT_EQ(json::parse(annotations["podcache.dev/applied-resources"].get<std::string>()),
            pod["spec"]["initContainers"][0]["resources"]);
  std::map<std::string, std::string> environment;
  for (const json& variable : pod["spec"]["initContainers"][0]["env"]) {
    environment[variable["name"]] = variable.value("value", "from");
  }
  EXPECT_EQ(environment["PODCACHE_ADMIN_CA"], "CA");
  EXPECT_EQ(environment["PODCACHE_ADMIN_IDENTITY"], "secret-of-0123");
  const json config = json::parse(environment["PODCACHE_POD_CONFIG"]);
  EXPECT_EQ(config["sidecar"], "shop/web-l1");
  EXPECT_EQ(config["memory"]["sizeBytes"], 67108864);
  EXPECT_EQ(config["configHash"], annotations["podcache.dev/config-hash"]);
}

TEST_F(InjectorTest, VolumesAreListedAsSafeToEvictBesideOthers) {
  json pod = WebPod();
  pod["metadata"]["annotations"] = {
      {"cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes", "scratch"}};
  pod["spec"]["volumes"] = json::array({{{"name", "scratch"}, {"emptyDir", json::object()}}});
  sidecars_ = {Sidecar("web-l1", R"({"listen": {"unixSocket": {"enabled": true}}})")};
  const json patched = Injected(pod);
  EXPECT_EQ(patched["metadata"]["annotations"]
                   ["cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"],
            "scratch,podcache-run,podcache-socket");
  EXPECT_EQ(patched["spec"]["volumes"].size(), 3U);
}

TEST_F(InjectorTest, SocketIsMountedReadOnlyInAllAppContainers) {
  sidecars_ = {
      Sidecar("web-l1", R"({"listen": {"unixSocket": {"enabled": true, "mountPath": "/cache"}}})")};
  json pod = WebPod();
  pod["spec"]["containers"].push_back(
      {{"name", "log"}, {"volumeMounts", json::array({{{"name", "x"}, {"mountPath", "/x"}}})}});
  pod["spec"]["initContainers"] = json::array({{{"name", "setup"}}});
  const json patched = Injected(pod);
  const json mount = {{"name", "podcache-socket"}, {"mountPath", "/cache"}, {"readOnly", true}};
  EXPECT_EQ(patched["spec"]["containers"][0]["volumeMounts"], json::array({mount}));
  EXPECT_EQ(patched["spec"]["containers"][1]["volumeMounts"][1], mount);
  EXPECT_FALSE(patched["spec"]["initContainers"][1].contains("volumeMounts"));
  EXPECT_THAT(patched["spec"]["initContainers"][0]["args"].dump(),
              HasSubstr("/cache/podcache.sock"));
}

TEST_F(InjectorTest, SocketGoesOnlyToChosenContainers) {
  sidecars_ = {
      Sidecar("web-l1",
              R"({"listen": {"unixSocket": {"enabled": true, "containers": ["log", "setup"]}}})")};
  json pod = WebPod();
  pod["spec"]["containers"].push_back({{"name", "log"}});
  pod["spec"]["initContainers"] = json::array({{{"name", "setup"}}});
  const json patched = Injected(pod);
  EXPECT_FALSE(patched["spec"]["containers"][0].contains("volumeMounts"));
  EXPECT_TRUE(patched["spec"]["containers"][1].contains("volumeMounts"));
  EXPECT_EQ(patched["spec"]["initContainers"][1]["name"], "setup");
  EXPECT_TRUE(patched["spec"]["initContainers"][1].contains("volumeMounts"));
}

// Reinvocation after another webhook added a container.
TEST_F(InjectorTest, ContainerAddedLaterGetsTheSocket) {
  sidecars_ = {Sidecar("web-l1", R"({"listen": {"unixSocket": {"enabled": true}}})")};
  json pod = Injected(WebPod());
  pod["spec"]["containers"].push_back({{"name", "proxy"}});
  const InjectionResult again = Run(pod);
  EXPECT_EQ(again.outcome, InjectionOutcome::kUnchanged);
  const json patch = json::parse(again.patch);
  EXPECT_EQ(patch.size(), 1U);
  EXPECT_EQ(Run(pod.patch(patch)).patch, "");
}

TEST_F(InjectorTest, PodsThatDoNotAskAreNotTouched) {
  for (const char* value : {"false", "yes", ""}) {
    json pod = WebPod();
    pod["metadata"]["labels"]["podcache.dev/inject"] = value;
    const InjectionResult result = Run(pod);
    EXPECT_EQ(result.outcome, InjectionOutcome::kSkipped);
    EXPECT_EQ(result.patch, "");
    EXPECT_THAT(result.warnings, IsEmpty());
  }
}

TEST_F(InjectorTest, NoMatchingSidecar) {
  json pod = WebPod();
  pod["metadata"]["labels"]["app"] = "other";
  ExpectLeftAlone(pod, "no CacheSidecar in namespace shop selects this pod");
}

TEST_F(InjectorTest, OldestWinsWithAWarning) {
  CacheSidecar older = Sidecar("a-new-name");
  older.metadata.creation_timestamp = "2026-11-29T10:00:00Z";
  sidecars_.push_back(older);
  const InjectionResult result = Run(WebPod());
  EXPECT_THAT(result.patch, HasSubstr("shop/a-new-name"));
  EXPECT_THAT(result.warnings, ElementsAre(HasSubstr("2 CacheSidecars select this pod")));
}

TEST_F(InjectorTest, AnnotationPicksByName) {
  CacheSidecar older = Sidecar("older");
  older.metadata.creation_timestamp = "2026-11-29T10:00:00Z";
  sidecars_.push_back(older);
  json pod = WebPod();
  pod["metadata"]["annotations"] = {{"podcache.dev/sidecar-name", "web-l1"}};
  EXPECT_EQ(Injected(pod)["metadata"]["labels"]["podcache.dev/sidecar"], "web-l1");
  EXPECT_THAT(result_.warnings, IsEmpty());
  pod["metadata"]["annotations"]["podcache.dev/sidecar-name"] = "missing";
  ExpectLeftAlone(pod, "missing named by annotation");
}

TEST_F(InjectorTest, ConflictsLeaveThePodAlone) {
  json pod = WebPod();
  pod["spec"]["containers"].push_back({{"name", "podcache"}});
  ExpectLeftAlone(pod, "container named podcache");

  for (const int port : {11211, 9150, 9151}) {
    pod = WebPod();
    pod["spec"]["containers"][0]["ports"] = json::array({{{"containerPort", port}}});
    ExpectLeftAlone(pod, "uses port " + std::to_string(port));
  }

  pod = WebPod();
  pod["spec"]["volumes"] = json::array({{{"name", "podcache-run"}}});
  ExpectLeftAlone(pod, "volume named podcache-run");

  sidecars_ = {
      Sidecar("web-l1", R"({"listen": {"unixSocket": {"enabled": true, "mountPath": "/c"}}})")};
  pod = WebPod();
  pod["spec"]["containers"][0]["volumeMounts"] =
      json::array({{{"name", "x"}, {"mountPath", "/c"}}});
  ExpectLeftAlone(pod, "already mounts a volume at /c");
}

TEST_F(InjectorTest, APortOfAnotherProtocolIsNoConflict) {
  json pod = WebPod();
  pod["spec"]["containers"][0]["ports"] =
      json::array({{{"containerPort", 11211}, {"protocol", "UDP"}}});
  Injected(pod);
}

// The API server does not even ask for these; nor are they refused when it does.
TEST_F(InjectorTest, ExcludedPods) {
  for (const char* label : {"true", "required"}) {
    json host = WebPod();
    host["metadata"]["labels"]["podcache.dev/inject"] = label;
    json mirror = host;
    host["spec"]["hostNetwork"] = true;
    mirror["metadata"]["annotations"] = {{"kubernetes.io/config.mirror", "x"}};
    for (const json& pod : {host, mirror}) {
      const InjectionResult result = Run(pod);
      EXPECT_EQ(result.outcome, InjectionOutcome::kSkipped);
      EXPECT_EQ(result.patch, "");
      EXPECT_EQ(result.warnings.size(), 1U);
    }
  }
}

// K06, the shape.
TEST_F(InjectorTest, JobPodGetsANativeSidecar) {
  json pod = WebPod();
  pod["spec"]["restartPolicy"] = "Never";
  pod["metadata"].erase("name");
  pod["metadata"]["generateName"] = "report-";
  EXPECT_EQ(Injected(pod)["spec"]["initContainers"][0]["restartPolicy"], "Always");
}

TEST_F(InjectorTest, WithoutNativeSidecarsJobsAreLeftAloneAndOthersGetAContainer) {
  native_ = false;
  json job = WebPod();
  job["spec"]["restartPolicy"] = "OnFailure";
  ExpectLeftAlone(job, "no native sidecars");
  const json pod = Injected(WebPod());
  EXPECT_FALSE(pod["spec"].contains("initContainers"));
  EXPECT_EQ(pod["spec"]["containers"][1]["name"], "podcache");
  EXPECT_FALSE(pod["spec"]["containers"][1].contains("restartPolicy"));
}

TEST_F(InjectorTest, PodLevelResourcesMustHoldTheCache) {
  json pod = WebPod();
  pod["spec"]["resources"] = {{"requests", {{"cpu", "2"}, {"memory", "2Gi"}}},
                              {"limits", {{"cpu", "2"}, {"memory", "2Gi"}}}};
  const json ours = Injected(pod)["spec"]["initContainers"][0];
  EXPECT_FALSE(ours["resources"]["limits"].contains("cpu"))
      << "the pod's own values decide its class";
  pod["spec"]["resources"] = {{"requests", {{"cpu", "1"}, {"memory", "1100Mi"}}},
                              {"limits", {{"cpu", "2"}, {"memory", "2Gi"}}}};
  ExpectLeftAlone(pod, "pod-level memory resources");
}

TEST_F(InjectorTest, RulesTravelWithThePodAndTheLargestNeedCounts) {
  sidecars_ = {Sidecar("web-l1", R"({"sizing": {"rules": [
    {"name": "arm", "match": {"arch": ["arm64"]}, "memory": {"overheadPercent": 100, "overheadFixed": "100Mi"}},
    {"name": "rest", "memory": {"overheadPercent": 10, "overheadFixed": "64Mi"}}]}})")};
  const json ours = Injected(WebPod())["spec"]["initContainers"][0];
  EXPECT_EQ(ours["resources"]["limits"]["memory"], "228Mi");  // 64 × 2 + 100
  json narrowed = WebPod();
  narrowed["spec"]["nodeSelector"] = {{"kubernetes.io/arch", "amd64"}};
  // 64Mi × 1.1 + 64Mi = 134.4Mi
  EXPECT_EQ(Injected(narrowed)["spec"]["initContainers"][0]["resources"]["limits"]["memory"],
            "135Mi");
}

TEST_F(InjectorTest, UnknownProfileIsSaidAndTheBuiltInRuleUsed) {
  sidecars_ = {Sidecar("web-l1", R"({"profileRef": {"name": "nowhere"}})")};
  Injected(WebPod());
  EXPECT_THAT(result_.warnings, ElementsAre(HasSubstr("CacheProfile nowhere does not exist")));
}

TEST_F(InjectorTest, ALimitThatHoldsNoCacheIsSaid) {
  sidecars_ = {Sidecar(
      "web-l1", R"({"memory": {"size": "32Mi"}, "resources": {"memory": {"limit": "100Mi"}}})")};
  ExpectLeftAlone(WebPod(), "holds no cache");
}

TEST_F(InjectorTest, OddShapesDoNotThrow) {
  for (
      const char* text :
      {R"({})", R"({"metadata": 1, "spec": []})",
       R"({"metadata": {"labels": {"podcache.dev/inject": "true", "app": "web"}}})",
       R"({"metadata": {"labels": {"podcache.dev/inject": "true", "app": "web"}, "annotations": null},
            "spec": {"containers": 7, "volumes": null, "initContainers": [3], "hostNetwork": "x"}})",
       R"({"metadata": {"labels": {"podcache.dev/inject": "true", "app": 5}}, "spec": {"containers": [null]}})"}) {
    EXPECT_NO_THROW(Run(json::parse(text))) << text;
  }
}

TEST_F(InjectorTest, NullMapsAndListsAreReplaced) {
  json pod = WebPod();
  pod["metadata"]["annotations"] = nullptr;
  pod["spec"]["volumes"] = nullptr;
  pod["spec"]["initContainers"] = nullptr;
  Injected(pod);
}

}  // namespace
}  // namespace podcache::control
