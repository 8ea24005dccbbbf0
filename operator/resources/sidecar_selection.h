// Which CacheSidecar is meant for a pod. Pure functions, used alike at admission and when running
// pods are counted.
//
// A pod opts in by its label podcache.dev/inject. Of the CacheSidecars of its namespace whose
// selector matches, the one named by the annotation podcache.dev/sidecar-name is used, without the
// annotation the oldest (then the first by name).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/v1alpha1/cache_sidecar.h"

namespace podcache::control {

enum class InjectRequest { kNever, kOptional, kRequired };

InjectRequest InjectRequestOf(const std::map<std::string, std::string>& pod_labels);

bool Matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels);

struct SidecarSelection {
  const CacheSidecar* chosen = nullptr;
  std::string warning;  // Several match, or the one named does not; empty otherwise.
};

// `sidecars`: those of the pod's namespace, in any order. Ones being deleted are passed over.
SidecarSelection SelectSidecar(const std::map<std::string, std::string>& pod_labels,
                               std::string_view wanted_name,
                               const std::vector<const CacheSidecar*>& sidecars);

}  // namespace podcache::control
