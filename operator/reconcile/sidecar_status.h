// The status of a CacheSidecar: a pure function of what a reconcile saw. The same facts give the
// same status, so that nothing is written in steady state.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/api/v1alpha1/conditions.h"
#include "operator/reconcile/pod_resizer.h"

namespace podcache::control {

inline constexpr std::size_t kMostPodsInStatus = 32;

struct SidecarFacts {
  std::int32_t matched_pods = 0;
  std::vector<std::string> not_injected;  // Names of matched pods without the cache.
  std::int32_t injected_pods = 0;
  std::vector<PodOutcome> pods;  // Injected ones; empty while the object cannot be followed.
  bool webhook_ready = true;     // It serves, and its CA is in place.
  bool native_sidecars = true;
  std::string invalid;  // Why the object cannot be followed; what to change. Empty: it can.
};

// `now`: RFC 3339, for conditions whose status changes.
CacheSidecarStatus BuildStatus(const CacheSidecar& sidecar, const SidecarFacts& facts,
                               std::string_view now);

// As it stands in status.pods and messages: "Growing", "VPAConflict", …
std::string_view StateName(ResizeState state);
// The reverse; kIdle for another text.
ResizeState StateFromName(std::string_view name);

}  // namespace podcache::control
