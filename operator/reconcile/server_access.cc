#include "operator/reconcile/server_access.h"

#include <algorithm>
#include <atomic>
#include <thread>

#include "common/status/status.h"
#include "operator/resources/names.h"

namespace podcache::control {

absl::StatusOr<NodeTarget> TargetOf(const PodView& pod, std::uint16_t port,
                                    const IdentityOf& identity_of) {
  if (pod.ip.empty()) return FailedPrecondition("pod has no address yet");
  if (pod.nonce.empty()) {
    return FailedPrecondition("pod lacks the annotation " + std::string(kIdentityAnnotation));
  }
  PODCACHE_ASSIGN_OR_RETURN(std::string secret, identity_of(pod.nonce));
  const bool v6 = pod.ip.find(':') != std::string::npos;
  return NodeTarget{.pod_uid = pod.uid,
                    .pod_name = pod.key.ToString(),
                    .address = (v6 ? "[" + pod.ip + "]" : pod.ip) + ":" + std::to_string(port),
                    .identity_secret = std::move(secret)};
}

std::vector<absl::StatusOr<NodeInfo>> PollServers(NodeClient& client,
                                                  const std::vector<NodeTarget>& targets,
                                                  std::size_t max_parallel) {
  std::vector<absl::StatusOr<NodeInfo>> answers(targets.size(), Unavailable("not asked"));
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < targets.size(); i = next++) {
      answers[i] = client.GetServerInfo(targets[i]);
    }
  };
  std::vector<std::jthread> helpers;
  for (std::size_t i = 1; i < std::min(max_parallel, targets.size()); ++i)
    helpers.emplace_back(work);
  work();
  helpers.clear();  // Joins.
  return answers;
}

}  // namespace podcache::control
