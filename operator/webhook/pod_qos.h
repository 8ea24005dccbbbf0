// The quality-of-service class that Kubernetes will give a pod, from its JSON. Pure functions.
// Source: Kubernetes, "Pod Quality of Service Classes"; pod-level resources (KEP-2837) decide alone
// where given.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace podcache::control {

enum class PodQos : std::uint8_t { kGuaranteed, kBurstable, kBestEffort };

// `pod_spec` is the spec object. What is no quantity counts as not set, as does a zero.
PodQos QosOf(const nlohmann::json& pod_spec);

bool HasPodLevelResources(const nlohmann::json& pod_spec);

}  // namespace podcache::control
