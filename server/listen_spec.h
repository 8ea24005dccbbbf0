// What -l says: where to listen for clients.
#pragma once

#include <string>
#include <vector>

#include "server/net/socket_address.h"
#include "server/wire_protocol.h"

namespace podcache::server {

struct ListenSpec {
  std::string host;
  int port = 0;  // -1: any free port.
  WireProtocol protocol = WireProtocol::kNegotiating;
};

// Addresses to open that stand and fall together (net::ListenTcp).
struct ListenGroup {
  std::vector<net::SocketAddress> addresses;
  WireProtocol protocol = WireProtocol::kNegotiating;
};

// What listening sockets are like unless -l says otherwise for one of them.
struct ListenDefaults {
  int port = 0;
  WireProtocol protocol = WireProtocol::kNegotiating;
};

// Splits and reads the values of -l: host, host:port, [v6]:port, comma-separated, each with
// memcached's prefixes (`tag_…:`, `tag[…]:`, `proto[ascii|binary|negotiating]:`) in front. False
// with a reason for anything else.
bool ParseListenSpecs(const std::vector<std::string>& values, const ListenDefaults& defaults,
                      std::vector<ListenSpec>& specs, std::string& error);

// The addresses to open. `loopback` listens there alone; no specs mean everywhere. Names are
// resolved here: false with a reason if one cannot be.
bool ResolveListenAddresses(const std::vector<ListenSpec>& specs, bool loopback,
                            const ListenDefaults& defaults, std::vector<ListenGroup>& groups,
                            std::string& error);

}  // namespace podcache::server
