// The cache container and what belongs to it in the pod, as JSON. Pure functions; the same input
// gives the same bytes.
//
// A native sidecar: an init container that keeps running. Its only probe is the startup probe,
// which gates the app container and must succeed at its first attempt (kubernetes#132826); there is
// no readiness probe, because a cache that is down must not take the app out of service. The
// container meets the restricted Pod Security Standard whatever the pod's own security context
// says.
//
// Source: docs/designs/0001-pod-contract.md.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/resources/container_amounts.h"

namespace podcache::control {

struct SidecarContainerInput {
  const CacheSidecarSpec& spec;
  std::string default_image;  // Used where the object names none.
  ContainerAmounts amounts;
  std::string pod_config;          // PODCACHE_POD_CONFIG
  std::string admin_ca_pem;        // PODCACHE_ADMIN_CA
  std::string admin_identity_hex;  // PODCACHE_ADMIN_IDENTITY
  // False where the API server knows no native sidecars: a plain container.
  bool native = true;
};

nlohmann::json BuildSidecarContainer(const SidecarContainerInput& input);

// Names of the volumes it needs are kRunVolume and, with a Unix socket, kSocketVolume; this is the
// list of both.
nlohmann::json BuildSidecarVolumes(const CacheSidecarSpec& spec);

// The mount for an app container: read-only, which is enough to connect.
nlohmann::json BuildAppSocketMount(const UnixSocketListen& socket);

}  // namespace podcache::control
