// The names that operator, chart and server agree on. Source: docs/designs/0001-pod-contract.md; a
// change here is a change of all the parts named there.
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::control {

// Pods: labels.
inline constexpr std::string_view kInjectLabel = "podcache.dev/inject";  // Set by the user.
inline constexpr std::string_view kInjectTrue = "true";
inline constexpr std::string_view kInjectRequired = "required";
inline constexpr std::string_view kInjectFalse = "false";
inline constexpr std::string_view kSidecarLabel = "podcache.dev/sidecar";  // Set by injection.

// Pods: annotations.
inline constexpr std::string_view kSidecarNameAnnotation =
    "podcache.dev/sidecar-name";  // Set by the user.
inline constexpr std::string_view kInjectedByAnnotation = "podcache.dev/injected-by";
inline constexpr std::string_view kConfigHashAnnotation = "podcache.dev/config-hash";
// The resources the operator last gave the container: what differs from them is somebody else's
// change.
inline constexpr std::string_view kAppliedResourcesAnnotation = "podcache.dev/applied-resources";
inline constexpr std::string_view kIdentityAnnotation = "podcache.dev/identity";
inline constexpr std::string_view kSafeToEvictVolumesAnnotation =
    "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes";

// Our objects: annotations.
inline constexpr std::string_view kPausedAnnotation = "podcache.dev/paused";

// Field managers of server-side apply.
inline constexpr std::string_view kFieldManager = "podcache-operator";
inline constexpr std::string_view kStatusFieldManager = "podcache-operator-status";

// The operator's own objects.
inline constexpr std::string_view kOperatorName =
    "podcache-operator";  // Deployment, ServiceAccount, Lease.
inline constexpr std::string_view kWebhookServiceName = "podcache-webhook";
inline constexpr std::string_view kWebhookPath = "/mutate";
inline constexpr std::string_view kWebhookConfigurationName = "podcache-injector";
inline constexpr std::string_view kInjectWebhook = "inject.podcache.dev";
inline constexpr std::string_view kInjectRequiredWebhook = "inject-required.podcache.dev";
inline constexpr std::string_view kCertificateSecretName = "podcache-certs";
inline constexpr std::string_view kDefaultProfileName = "default";

// The sidecar container.
inline constexpr std::string_view kContainerName = "podcache";
inline constexpr std::string_view kServerBinary = "/podcached";
inline constexpr std::int64_t kContainerUser = 65532;
inline constexpr std::string_view kRunVolume = "podcache-run";
inline constexpr std::string_view kRunMountPath = "/run/podcache";
inline constexpr std::string_view kSocketVolume = "podcache-socket";
inline constexpr std::string_view kSocketFileName = "podcache.sock";
inline constexpr std::string_view kAdminSocketPath = "/run/podcache/admin.sock";
inline constexpr std::string_view kMetricsPortName = "http-metrics";
inline constexpr std::string_view kAdminPortName = "grpc-admin";
inline constexpr std::int32_t kMetricsPort = 9150;
inline constexpr std::int32_t kAdminPort = 9151;

// Its environment.
inline constexpr std::string_view kPodConfigVariable = "PODCACHE_POD_CONFIG";
inline constexpr std::string_view kAdminCaVariable = "PODCACHE_ADMIN_CA";
inline constexpr std::string_view kAdminIdentityVariable = "PODCACHE_ADMIN_IDENTITY";
inline constexpr std::string_view kPodNameVariable = "PODCACHE_POD_NAME";
inline constexpr std::string_view kPodNamespaceVariable = "PODCACHE_POD_NAMESPACE";

}  // namespace podcache::control
