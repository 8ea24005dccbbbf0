#include "operator/reconcile/permissions.h"

#include "operator/api/v1alpha1/group_version.h"
#include "operator/resources/names.h"

namespace podcache::control {

const std::vector<Right>& RightsNeeded() {
  static const auto* const rights = new std::vector<Right>{
      {RightScope::kWatched, kGroup, "cachesidecars", "", {"get", "list", "watch"}},
      {RightScope::kWatched, kGroup, "cachesidecars/status", "", {"patch"}},
      {RightScope::kWatched, "", "pods", "", {"get", "list", "watch", "patch"}},
      {RightScope::kWatched, "", "pods/resize", "", {"patch"}},
      {RightScope::kWatched, "", "pods/eviction", "", {"create"}},
      {RightScope::kWatched, "events.k8s.io", "events", "", {"create", "patch"}},
      {RightScope::kProfiles, kGroup, "cacheprofiles", "", {"get", "list", "watch"}},
      {RightScope::kProfiles, kGroup, "cacheprofiles/status", "", {"patch"}},
      {RightScope::kProfiles, "events.k8s.io", "events", "", {"create", "patch"}},
      {RightScope::kNodes, "", "nodes", "", {"get"}},
      {RightScope::kCluster,
       "admissionregistration.k8s.io",
       "mutatingwebhookconfigurations",
       kWebhookConfigurationName,
       {"get", "patch"}},
      {RightScope::kOwn, "", "secrets", kCertificateSecretName, {"get", "patch", "update"}},
      {RightScope::kOwn, "coordination.k8s.io", "leases", kOperatorName, {"get", "update"}},
      {RightScope::kOwn, "coordination.k8s.io", "leases", "", {"create"}},
      {RightScope::kProbe, "", "pods", "", {"create"}},
  };
  return *rights;
}

}  // namespace podcache::control
