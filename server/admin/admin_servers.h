// The server's two side doors as it starts and stops them.
//
//   Start     HTTP listens: /healthz says ok, /readyz and /metrics say "starting" (503). Before any
//   slow set-up, so that a startup
//             probe succeeds at its first attempt.
//   Serve     there is a cache: /metrics works, gRPC listens.
//   SetReady  what /readyz and the gRPC health service say; false again before the server drains.
//   Stop      both end, within a second; nothing of the server is touched afterwards.
//
// Threads: all functions from one thread. Ownership: backend and collector outlive Stop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "server/admin/admin_credentials.h"

namespace podcache::metrics {
class MetricsCollector;
}

namespace podcache::admin {

class Backend;

struct AdminOptions {
  std::vector<std::string> http_addresses;  // Empty: off. Forms as in common/http/listen_address.h.
  std::vector<std::string> grpc_addresses;  // Empty: off.
  AdminTrust trust;
};

class AdminServers {
 public:
  // Refuses bad addresses of both kinds, and a gRPC address that others can reach without a trust,
  // before it listens.
  static std::unique_ptr<AdminServers> Start(AdminOptions options, std::string* error);

  ~AdminServers();
  AdminServers(const AdminServers&) = delete;
  AdminServers& operator=(const AdminServers&) = delete;

  bool Serve(Backend& backend, const metrics::MetricsCollector& collector,
             std::int64_t now_unix_seconds, std::string* error);
  void SetReady(bool ready);
  void Stop();

  // As bound: "[::]:9150".
  std::vector<std::string> http_addresses() const;
  // Of the TCP addresses, in order; once serving.
  std::vector<int> grpc_ports() const;

 private:
  class Impl;
  explicit AdminServers(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::admin
