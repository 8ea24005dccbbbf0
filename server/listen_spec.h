// What -l says: where to listen for clients.
#pragma once

#include <string>
#include <vector>

#include "server/net/socket_address.h"

namespace podcache::server {

struct ListenSpec {
  std::string host;
  int port = 0;  // -1: any free port.
};

// Splits and reads the values of -l: host, host:port, [v6]:port, comma-separated, each with
// memcached's prefixes
// (`tag_…:`, `tag[…]:`, `proto[ascii]:`) in front. False with a reason for anything else.
bool ParseListenSpecs(const std::vector<std::string>& values, int default_port,
                      std::vector<ListenSpec>& specs, std::string& error);

// The addresses to open, as groups that stand and fall together (net::ListenTcp). `loopback`
// listens there alone; no specs mean everywhere. Names are resolved here: false with a reason if
// one cannot be.
bool ResolveListenAddresses(const std::vector<ListenSpec>& specs, bool loopback, int default_port,
                            std::vector<std::vector<net::SocketAddress>>& groups,
                            std::string& error);

}  // namespace podcache::server
