#include "operator/cluster_features.h"

#include <nlohmann/json.hpp>

#include "operator/client/api_error.h"

namespace podcache::control {

namespace {

using nlohmann::json;

// An API server whose gate is off drops the field without a word, and the pod would hang at start.
absl::StatusOr<bool> KeepsRestartPolicy(kube::ApiClient& client, const std::string& ns) {
  // Also where the namespace enforces the restricted Pod Security Standard.
  const json container = {{"name", "probe"},
                          {"image", "podcache.dev/never-run"},
                          {"securityContext",
                           {{"allowPrivilegeEscalation", false},
                            {"capabilities", {{"drop", json::array({"ALL"})}}},
                            {"runAsNonRoot", true},
                            {"seccompProfile", {{"type", "RuntimeDefault"}}}}}};
  json sidecar = container;
  sidecar["name"] = "sidecar";
  sidecar["restartPolicy"] = "Always";
  const kube::Object pod(json{
      {"apiVersion", "v1"},
      {"kind", "Pod"},
      {"metadata", {{"generateName", "podcache-probe-"}, {"namespace", ns}}},
      {"spec",
       {{"initContainers", json::array({sidecar})}, {"containers", json::array({container})}}}});
  const absl::StatusOr<kube::Object> made =
      client.Create(kube::kPods, pod, {.field_manager = "podcache-operator", .dry_run = true});
  if (kube::IsForbidden(made.status()) || kube::IsInvalid(made.status())) return true;
  if (!made.ok()) return made.status();
  const json& kept = made->At({"spec", "initContainers"});
  return kept.is_array() && !kept.empty() && kept[0].contains("restartPolicy");
}

}  // namespace

absl::StatusOr<ClusterFeatures> DetectFeatures(kube::ApiClient& client, const std::string& ns) {
  ClusterFeatures features;
  PODCACHE_ASSIGN_OR_RETURN(features.version, client.Version());
  PODCACHE_ASSIGN_OR_RETURN(features.in_place_resize, kube::IsServed(client, "v1", "pods/resize"));
  features.memory_decrease = features.version.AtLeast(1, 34);
  if (!features.version.AtLeast(1, 29)) {
    features.native_sidecars = false;
  } else if (!features.version.AtLeast(1, 33)) {
    PODCACHE_ASSIGN_OR_RETURN(features.native_sidecars, KeepsRestartPolicy(client, ns));
  }
  return features;
}

}  // namespace podcache::control
