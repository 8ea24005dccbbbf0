#include "operator/resources/sidecar_container.h"

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/resources/names.h"

namespace podcache::control {

namespace {

using nlohmann::json;

std::string Text(std::string_view view) { return std::string(view); }

std::vector<std::string> Arguments(const CacheSidecarSpec& spec) {
  const SidecarListen& listen = spec.listen;
  const std::string socket = listen.unix_socket.mount_path + "/" + Text(kSocketFileName);
  std::vector<std::string> arguments;
  if (listen.loopback) {
    arguments = {"--loopback", "-p", std::to_string(listen.port), "-U", "0"};
    if (listen.unix_socket.enabled) {
      arguments.insert(arguments.end(), {"--extra-unix-socket=" + socket, "-a", "0666"});
    }
  } else {
    arguments = {"-s", socket, "-a", "0666"};
  }
  arguments.push_back("--http-listen=*:" + std::to_string(kMetricsPort));
  arguments.push_back("--admin-listen=*:" + std::to_string(kAdminPort));
  arguments.push_back("--admin-listen=unix:" + Text(kAdminSocketPath));
  arguments.insert(arguments.end(), spec.extra_args.begin(), spec.extra_args.end());
  return arguments;
}

json Variable(std::string_view name, const std::string& value) {
  return {{"name", Text(name)}, {"value", value}};
}

json DownwardVariable(std::string_view name, const char* field) {
  return {{"name", Text(name)}, {"valueFrom", {{"fieldRef", {{"fieldPath", field}}}}}};
}

json Environment(const SidecarContainerInput& input) {
  return json::array({Variable(kPodConfigVariable, input.pod_config),
                      Variable(kAdminCaVariable, input.admin_ca_pem),
                      Variable(kAdminIdentityVariable, input.admin_identity_hex),
                      DownwardVariable(kPodNameVariable, "metadata.name"),
                      DownwardVariable(kPodNamespaceVariable, "metadata.namespace")});
}

json SecurityContext() {
  return {{"allowPrivilegeEscalation", false},
          {"capabilities", {{"drop", json::array({"ALL"})}}},
          {"readOnlyRootFilesystem", true},
          {"runAsGroup", kContainerUser},
          {"runAsNonRoot", true},
          {"runAsUser", kContainerUser},
          {"seccompProfile", {{"type", "RuntimeDefault"}}}};
}

json Port(std::string_view name, std::int32_t port) {
  return {{"name", Text(name)}, {"containerPort", port}, {"protocol", "TCP"}};
}

// A minute for the first answer: pulling is over by then, so only a starved CPU can take long.
json StartupProbe() {
  constexpr int kAttempts = 60;
  return {{"httpGet", {{"path", "/healthz"}, {"port", Text(kMetricsPortName)}}},
          {"periodSeconds", 1},
          {"timeoutSeconds", 1},
          {"failureThreshold", kAttempts}};
}

json Mounts(const CacheSidecarSpec& spec) {
  json mounts = json::array({{{"name", Text(kRunVolume)}, {"mountPath", Text(kRunMountPath)}}});
  if (spec.listen.unix_socket.enabled) {
    mounts.push_back(
        {{"name", Text(kSocketVolume)}, {"mountPath", spec.listen.unix_socket.mount_path}});
  }
  return mounts;
}

// In memory: it holds sockets only, and such a volume does not keep the cluster autoscaler from
// removing the node.
json MemoryVolume(std::string_view name) {
  return {{"name", Text(name)}, {"emptyDir", {{"medium", "Memory"}, {"sizeLimit", "1Mi"}}}};
}

}  // namespace

json BuildSidecarContainer(const SidecarContainerInput& input) {
  const CacheSidecarSpec& spec = input.spec;
  json container = {
      {"name", Text(kContainerName)},
      {"image", spec.image.empty() ? input.default_image : spec.image},
      {"command", json::array({Text(kServerBinary)})},
      {"args", Arguments(spec)},
      {"env", Environment(input)},
      {"ports",
       json::array({Port(kMetricsPortName, kMetricsPort), Port(kAdminPortName, kAdminPort)})},
      {"resources", ToResourcesJson(input.amounts)},
      // Required where the pod is never restarted, and immutable, so it is always there.
      {"resizePolicy",
       json::array({{{"resourceName", "cpu"}, {"restartPolicy", "NotRequired"}},
                    {{"resourceName", "memory"}, {"restartPolicy", "NotRequired"}}})},
      {"securityContext", SecurityContext()},
      {"startupProbe", StartupProbe()},
      {"terminationMessagePolicy", "FallbackToLogsOnError"},
      {"volumeMounts", Mounts(spec)},
  };
  if (input.native) container["restartPolicy"] = "Always";
  return container;
}

json BuildSidecarVolumes(const CacheSidecarSpec& spec) {
  json volumes = json::array({MemoryVolume(kRunVolume)});
  if (spec.listen.unix_socket.enabled) volumes.push_back(MemoryVolume(kSocketVolume));
  return volumes;
}

json BuildAppSocketMount(const UnixSocketListen& socket) {
  return {{"name", Text(kSocketVolume)}, {"mountPath", socket.mount_path}, {"readOnly", true}};
}

}  // namespace podcache::control
