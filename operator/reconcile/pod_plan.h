// What one running cache should have, by the CacheSidecar, the sizing rules and what the server
// says of its host. Pure functions.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/sizing/sizing.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/reconcile/pod_view.h"
#include "operator/reconcile/resize.h"

namespace podcache::control {

// Facts about a host that do not change while the container runs.
struct HostFacts {
  std::string arch;
  std::uint64_t page_size_bytes = 0;
  std::uint32_t usable_cpus = 0;
};

enum class Sized : std::uint8_t { kMatched, kNoMatch, kArchUnknown, kLimitTooSmall };

struct PodPlan {
  SidecarTarget target;
  Sized sized = Sized::kMatched;
  std::string message;    // Names what to change, unless kMatched.
  std::string rule_name;  // "built-in" where none is given or none matches.
  // The container differs from what it was last given by us: somebody else's doing, and followed.
  bool foreign_change = false;
  // Nothing fits: there is no size to set, and the pod is left alone.
  bool impossible = false;
};

struct PodPlanInput {
  const CacheSidecarSpec& spec;
  const std::vector<sizing::Rule>& rules;
  const PodView& pod;
  std::optional<HostFacts> host;                                  // Absent: never reported.
  std::optional<std::map<std::string, std::string>> node_labels;  // Absent: may not be read.
  // What was last asked for this pod in this process, which the annotation may not show yet.
  std::optional<ContainerAmounts> last_patched;
  std::uint64_t server_cgroup_limit_bytes = 0;  // 0: not known.
};

PodPlan PlanPod(const PodPlanInput& input);

// The text of the annotation podcache.dev/applied-resources.
std::string AppliedResourcesText(const ContainerAmounts& amounts);

}  // namespace podcache::control
