#include "operator/webhook/pod_qos.h"

#include <nlohmann/json.hpp>

#include "operator/resources/container_amounts.h"

namespace podcache::control {

namespace {

using nlohmann::json;

struct Tally {
  bool any = false;        // Some request or limit of CPU or memory is set.
  bool guaranteed = true;  // All limits are set, and no request differs from its limit.

  void Add(const json& holder) {
    const auto resources = holder.find("resources");
    const ContainerAmounts amounts =
        resources == holder.end() ? ContainerAmounts() : AmountsFromResourcesJson(*resources);
    any = any || amounts != ContainerAmounts();
    const auto full = [](std::uint64_t request, std::uint64_t limit) {
      return limit != 0 &&
             (request == 0 || request == limit);  // A request absent becomes the limit.
    };
    guaranteed = guaranteed && full(amounts.cpu_request_milli, amounts.cpu_limit_milli) &&
                 full(amounts.memory_request_bytes, amounts.memory_limit_bytes);
  }
  PodQos Class() const {
    if (!any) return PodQos::kBestEffort;
    return guaranteed ? PodQos::kGuaranteed : PodQos::kBurstable;
  }
};

}  // namespace

bool HasPodLevelResources(const json& pod_spec) {
  const auto resources = pod_spec.find("resources");
  return resources != pod_spec.end() && AmountsFromResourcesJson(*resources) != ContainerAmounts();
}

PodQos QosOf(const json& pod_spec) {
  Tally tally;
  if (HasPodLevelResources(pod_spec)) {
    tally.Add(pod_spec);
    return tally.Class();
  }
  for (const char* list : {"containers", "initContainers"}) {
    const auto containers = pod_spec.find(list);
    if (containers == pod_spec.end() || !containers->is_array()) continue;
    for (const json& container : *containers) {
      if (container.is_object()) tally.Add(container);
    }
  }
  return tally.Class();
}

}  // namespace podcache::control
