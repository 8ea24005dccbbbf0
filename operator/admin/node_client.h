// The operator's view of one running cache: look at it, change its memory and threads.
//
// `NodeClient` is the seam for the reconcilers and their tests; `GrpcNodeClient`
// (grpc_node_client.h) is the real one.
//
// Threads: any; calls block up to their deadline. Values are plain: no gRPC or protobuf type leaves
// this module.
//
// Errors: Unavailable (nobody answers, or the TLS handshake failed: somebody else's server, wrong
// certificate), DeadlineExceeded, InvalidArgument (the server names field, value and range),
// FailedPrecondition (a cgroup limit does not fit), Unauthenticated. The message begins with the
// pod.
#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"

namespace podcache::control {

// Which cache is meant. A pod that got the address later has another uid and another secret, so it
// is never mistaken.
struct NodeTarget {
  std::string pod_uid;
  std::string pod_name;         // namespace/name, for messages.
  std::string address;          // host:port, IPv6 in brackets.
  std::string identity_secret;  // 32 bytes, tls::DeriveIdentitySecret(key, nonce).
};

struct NodeConfig {
  std::uint64_t memory_target_bytes = 0;  // Asked for.
  std::uint64_t memory_limit_bytes = 0;   // In force: limit_maxbytes.
  std::uint32_t threads_target = 0;
  std::uint32_t threads_running = 0;
  std::uint32_t max_connections = 0;
  std::uint64_t max_item_size_bytes = 0;
};

struct NodeInfo {
  std::string version;
  std::string architecture;  // amd64, arm64.
  std::uint64_t page_size_bytes = 0;
  std::uint32_t usable_cpus = 0;
  double cgroup_cpu_quota_cores = 0;            // 0: no quota.
  std::uint64_t cgroup_memory_limit_bytes = 0;  // 0: no limit.
  std::uint64_t cgroup_memory_usage_bytes = 0;
  std::uint64_t resident_memory_bytes = 0;
  std::int64_t start_time_unix_seconds = 0;
  std::string config_hash;  // Of the configuration the pod was born with.
  std::string sizing_rule;  // Empty: explicit values, no rule or none that matched.
  bool resize_in_progress = false;
  NodeConfig config;  // Read together with the figures above.
};

struct NodeStats {
  std::uint64_t current_items = 0;
  std::uint64_t current_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t resident_memory_bytes = 0;
  std::uint64_t get_hits = 0;
  std::uint64_t get_misses = 0;
  std::uint64_t cmd_set = 0;
  std::uint64_t evictions = 0;
  std::uint32_t current_connections = 0;
  std::uint32_t threads = 0;
};

class NodeClient {
 public:
  virtual ~NodeClient() = default;

  virtual absl::StatusOr<NodeInfo> GetServerInfo(const NodeTarget& target) = 0;
  virtual absl::StatusOr<NodeConfig> GetConfig(const NodeTarget& target) = 0;
  // Answer once the change is accepted, with the values then in force; the resize itself goes on:
  // poll GetServerInfo until config.memory_limit_bytes (threads_running) has the value and resident
  // memory followed. Idempotent.
  virtual absl::StatusOr<NodeConfig> SetMemory(const NodeTarget& target,
                                               std::uint64_t target_bytes) = 0;
  virtual absl::StatusOr<NodeConfig> SetThreads(const NodeTarget& target,
                                                std::uint32_t threads) = 0;
  virtual absl::StatusOr<NodeStats> GetStats(const NodeTarget& target) = 0;

  // The pod is gone: drops what is kept for it.
  virtual void Forget(const std::string& pod_uid) = 0;
};

}  // namespace podcache::control
