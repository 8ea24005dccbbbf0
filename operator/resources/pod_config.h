// The configuration that travels with a pod: compact JSON in the environment of the cache
// container. Pure functions; the same input gives the same bytes.
//
// Source: docs/designs/0001-pod-contract.md.
#pragma once

#include <string>
#include <vector>

#include "common/sizing/sizing.h"
#include "operator/api/v1alpha1/cache_sidecar.h"

namespace podcache::control {

// Hash over those fields that only a new pod follows (image, listeners, largest item, connections,
// further arguments), as 32 hex digits. Equal hashes: whatever else changed is applied live. The
// operator's default image does not count, so that an update of the operator does not make every
// pod look outdated.
std::string RestartHash(const CacheSidecarSpec& spec);

// The value of PODCACHE_POD_CONFIG. `configHash` in it is the RestartHash.
std::string BuildPodConfig(const CacheSidecar& sidecar, const std::vector<sizing::Rule>& rules);

}  // namespace podcache::control
