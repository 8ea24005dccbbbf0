// Whether a pod can take the cache container: what in it is in the way. Pure functions.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/resources/container_amounts.h"

namespace podcache::control {

// A sentence for people, or empty: containers, volumes, ports or mount paths of ours that the pod
// already uses.
std::string FindConflict(const nlohmann::json& pod_spec, const CacheSidecarSpec& spec);

// A sentence, or empty: the pod's own limits leave no room for a container of this size.
std::string FindLackOfRoom(const nlohmann::json& pod_spec, const ContainerAmounts& amounts);

// A sentence, or empty: pods that never get a sidecar (host network, static pods, Windows).
std::string FindExclusion(const nlohmann::json& pod);

// Whether an app container gets the socket: all regular ones, or those that are named.
bool WantsSocket(const nlohmann::json& container, bool is_init, const UnixSocketListen& socket);

}  // namespace podcache::control
