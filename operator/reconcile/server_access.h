// How reconcilers reach the caches of pods: address, identity, and many of them at once.
//
// Threads: PollServers starts up to `max_parallel` threads and joins them before it returns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/admin/node_client.h"
#include "operator/reconcile/pod_view.h"

namespace podcache::control {

// The pod's identity secret, raw, from the nonce in its annotation; fails before there are
// certificates.
using IdentityOf = std::function<absl::StatusOr<std::string>(std::string_view nonce)>;

// FailedPrecondition while the pod has no address, or without the annotation of its identity.
absl::StatusOr<NodeTarget> TargetOf(const PodView& pod, std::uint16_t port,
                                    const IdentityOf& identity_of);

// One answer per target, in their order.
std::vector<absl::StatusOr<NodeInfo>> PollServers(NodeClient& client,
                                                  const std::vector<NodeTarget>& targets,
                                                  std::size_t max_parallel);

}  // namespace podcache::control
