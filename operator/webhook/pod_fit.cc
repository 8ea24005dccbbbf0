#include "operator/webhook/pod_fit.h"

#include <algorithm>
#include <initializer_list>
#include <nlohmann/json.hpp>
#include <set>

#include "operator/resources/names.h"
#include "operator/webhook/json_access.h"

namespace podcache::control {

namespace {

using nlohmann::json;

// Calls visit(container, is_init) for every container that is an object.
template <typename Visit>
void ForEachContainer(const json& pod_spec, Visit visit) {
  for (const std::string_view list : {"containers", "initContainers"}) {
    const json& containers = Member(pod_spec, list);
    if (!containers.is_array()) continue;
    for (const json& container : containers) {
      if (container.is_object()) visit(container, list == "initContainers");
    }
  }
}

std::set<std::int64_t> PortsOf(const CacheSidecarSpec& spec) {
  std::set<std::int64_t> ports = {kMetricsPort, kAdminPort};
  if (spec.listen.loopback) ports.insert(spec.listen.port);
  return ports;
}

std::string PortConflict(const json& container, const std::set<std::int64_t>& ours) {
  const json& ports = Member(container, "ports");
  if (!ports.is_array()) return {};
  for (const json& port : ports) {
    const json& number = Member(port, "containerPort");
    const std::string protocol = Text(port, "protocol");
    if (!number.is_number_integer() || (!protocol.empty() && protocol != "TCP")) continue;
    if (ours.contains(number.get<std::int64_t>())) {
      return "container " + Text(container, "name") + " uses port " +
             std::to_string(number.get<std::int64_t>()) + ", which the cache needs";
    }
  }
  return {};
}

std::string MountConflict(const json& container, const std::string& mount_path) {
  const json& mounts = Member(container, "volumeMounts");
  if (!mounts.is_array()) return {};
  for (const json& mount : mounts) {
    if (Text(mount, "mountPath") == mount_path) {
      return "container " + Text(container, "name") + " already mounts a volume at " + mount_path;
    }
  }
  return {};
}

std::string VolumeConflict(const json& pod_spec) {
  const json& volumes = Member(pod_spec, "volumes");
  if (!volumes.is_array()) return {};
  for (const json& volume : volumes) {
    const std::string name = Text(volume, "name");
    if (name == kRunVolume || name == kSocketVolume)
      return "pod already has a volume named " + name;
  }
  return {};
}

ContainerAmounts AmountsOf(const json& holder) {
  return AmountsFromResourcesJson(Member(holder, "resources"));
}

}  // namespace

std::string FindConflict(const json& pod_spec, const CacheSidecarSpec& spec) {
  if (std::string conflict = VolumeConflict(pod_spec); !conflict.empty()) return conflict;
  std::string conflict;
  const std::set<std::int64_t> ports = PortsOf(spec);
  const UnixSocketListen& socket = spec.listen.unix_socket;
  ForEachContainer(pod_spec, [&](const json& container, bool is_init) {
    if (!conflict.empty()) return;
    if (Text(container, "name") == kContainerName) {
      conflict = "pod already has a container named " + std::string(kContainerName);
      return;
    }
    conflict = PortConflict(container, ports);
    if (conflict.empty() && socket.enabled && WantsSocket(container, is_init, socket)) {
      conflict = MountConflict(container, socket.mount_path);
    }
  });
  return conflict;
}

std::string FindLackOfRoom(const json& pod_spec, const ContainerAmounts& amounts) {
  const ContainerAmounts pod = AmountsOf(pod_spec);
  ContainerAmounts sum = amounts;
  ForEachContainer(pod_spec, [&](const json& container, bool is_init) {
    if (is_init && Text(container, "restartPolicy") != "Always") return;
    const ContainerAmounts more = AmountsOf(container);
    sum.memory_request_bytes += more.memory_request_bytes;
    sum.cpu_request_milli += more.cpu_request_milli;
  });
  const auto exceeds = [](std::uint64_t ours, std::uint64_t of_pod) {
    return of_pod != 0 && ours > of_pod;
  };
  if (exceeds(sum.memory_request_bytes, pod.memory_request_bytes) ||
      exceeds(amounts.memory_limit_bytes, pod.memory_limit_bytes)) {
    return "the pod-level memory resources leave no room for the cache";
  }
  if (exceeds(sum.cpu_request_milli, pod.cpu_request_milli) ||
      exceeds(amounts.cpu_limit_milli, pod.cpu_limit_milli)) {
    return "the pod-level cpu resources leave no room for the cache";
  }
  return {};
}

std::string FindExclusion(const json& pod) {
  const json& spec = Member(pod, "spec");
  const json& host_network = Member(spec, "hostNetwork");
  if (host_network.is_boolean() && host_network.get<bool>()) {
    return "pods on the host network get no cache: its ports would be the node's";
  }
  const json& annotations = Member(Member(pod, "metadata"), "annotations");
  if (annotations.is_object() && annotations.contains("kubernetes.io/config.mirror")) {
    return "static pods get no cache";
  }
  if (Text(Member(spec, "os"), "name") == "windows") return "Windows pods get no cache";
  return {};
}

bool WantsSocket(const json& container, bool is_init, const UnixSocketListen& socket) {
  if (socket.containers.empty()) return !is_init;
  return std::find(socket.containers.begin(), socket.containers.end(), Text(container, "name")) !=
         socket.containers.end();
}

}  // namespace podcache::control
