// How much memory, CPU and threads a sidecar gets. Pure functions; bytes and thousandths of a core.
//
//   memory limit = size × (1 + overheadPercent / 100) + overheadFixed, rounded up to a Mi, unless
//   the object gives one cache size   = what is asked for, but never more than the limit holds
//   under the rule
//
// Before the pod is bound all rules that are still possible count, so that it is born with the
// largest need; afterwards the one rule of its node.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "common/sizing/sizing.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/resources/container_amounts.h"

namespace podcache::control {

struct SidecarSizing {
  std::uint64_t desired_cache_bytes = 0;  // As the object asks.
  std::uint64_t cache_bytes =
      0;  // The desired size, or less where the limit does not hold it; 0: nothing fits.
  std::uint64_t needed_limit_bytes = 0;  // The limit that the desired size needs.
  ContainerAmounts amounts;
};

// `rules` is not empty. `guaranteed`: the pod's QoS class is Guaranteed and qos is Preserve, so
// requests equal limits.
SidecarSizing SizeSidecar(const CacheSidecarSpec& spec, const std::vector<sizing::Rule>& rules,
                          bool guaranteed);

// Threads that a running server should have. `cpu_limit_milli`: of its cgroup, if any.
std::uint32_t SidecarThreads(const CacheThreads& threads, const sizing::ThreadRule& rule,
                             std::optional<std::uint64_t> cpu_limit_milli,
                             std::uint32_t usable_cpus);

}  // namespace podcache::control
