// The real NodeClient: one gRPC channel per pod, kept under the pod's uid, over mutual TLS.
//
// The operator shows its client certificate; the server must show the proof of identity of exactly
// this pod (docs/designs/0002-admin-trust.md) or the handshake fails. Proxies of the environment
// are not used: pods are reached directly.
//
// Threads: any; calls of different pods do not wait for each other. Channels that were not used for
// long close themselves and at most `max_channels` are kept, the least recently used goes.
#pragma once

#include <chrono>
#include <memory>

#include "common/tls/certificate.h"
#include "operator/admin/node_client.h"

namespace podcache::control {

struct NodeClientOptions {
  std::chrono::milliseconds call_timeout{5000};  // Connecting included.
  std::size_t max_channels = 5000;
};

class GrpcNodeClient final : public NodeClient {
 public:
  explicit GrpcNodeClient(const NodeClientOptions& options = {});
  ~GrpcNodeClient() override;

  // Before the first call, and again after each renewal: calls under way end with the old one,
  // later ones connect anew.
  void SetClientCertificate(const tls::KeyPair& client);

  absl::StatusOr<NodeInfo> GetServerInfo(const NodeTarget& target) override;
  absl::StatusOr<NodeConfig> GetConfig(const NodeTarget& target) override;
  absl::StatusOr<NodeConfig> SetMemory(const NodeTarget& target,
                                       std::uint64_t target_bytes) override;
  absl::StatusOr<NodeConfig> SetThreads(const NodeTarget& target, std::uint32_t threads) override;
  absl::StatusOr<NodeStats> GetStats(const NodeTarget& target) override;
  void Forget(const std::string& pod_uid) override;

 private:
  class Channels;
  template <class Response, class Request, class Method>
  absl::StatusOr<Response> Call(const NodeTarget& target, const Request& request, Method method);

  const NodeClientOptions options_;
  std::unique_ptr<Channels> channels_;
};

}  // namespace podcache::control
