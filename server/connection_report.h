// Connections and listening sockets in the words of `stats conns`.
//
// Threads: any. Source: protocol.md 6.
#pragma once

#include <cstdint>
#include <vector>

#include "server/command/server_context.h"
#include "server/net/connection_table.h"

namespace podcache::server {

// `now_seconds` is monotonic.
std::vector<command::ConnectionReport> ReportConnections(
    const std::vector<net::ConnectionListing>& sockets,
    const std::vector<net::ConnectionListing>& udp_sockets,
    const std::vector<net::ConnectionListing>& connections, std::uint32_t now_seconds);

}  // namespace podcache::server
