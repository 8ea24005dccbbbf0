// The gRPC server of the admin API on its addresses: plaintext on Unix sockets (0600) and, without
// a trust, on loopback; mutual TLS on TCP otherwise. Standard health service and reflection
// included.
//
// Threads: Start, SetReady, Stop from one thread. Ownership: the backend outlives this.
#pragma once

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "server/admin/admin_credentials.h"
#include "server/admin/backend.h"

namespace podcache::admin {

class GrpcEndpoint {
 public:
  // Checks addresses and trust and changes nothing: to refuse a bad command line before anything is
  // opened. An address that others can reach needs a trust.
  static bool Check(const std::vector<std::string>& addresses, const AdminTrust& trust,
                    std::string* error);

  // Listens on all the addresses, or returns null with the reason in `error`.
  static std::unique_ptr<GrpcEndpoint> Start(const std::vector<std::string>& addresses,
                                             const AdminTrust& trust, Backend& backend,
                                             std::int64_t now_unix_seconds, std::string* error);

  ~GrpcEndpoint();
  GrpcEndpoint(const GrpcEndpoint&) = delete;
  GrpcEndpoint& operator=(const GrpcEndpoint&) = delete;

  // What the health service says.
  void SetReady(bool ready);
  // Calls under way get until `grace` is over, then they are cancelled. May be called twice.
  void Stop(std::chrono::milliseconds grace);

  // Ports in the order of the TCP addresses, as chosen by the kernel where 0 was asked for.
  const std::vector<int>& ports() const;

 private:
  class Impl;
  explicit GrpcEndpoint(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::admin
