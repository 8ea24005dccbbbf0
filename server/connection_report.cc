#include "server/connection_report.h"

#include <string>
#include <string_view>

namespace podcache::server {

namespace {

using net::Activity;
using net::PeerAddress;

// A client of a Unix socket has no address; memcached shows it like this.
constexpr char kNoAddress[] = "?:<AF 0>";

std::string_view StateOf(Activity activity) noexcept {
  switch (activity) {
    case Activity::kWaiting:
      return "conn_read";
    case Activity::kRunning:
      return "conn_parse_cmd";
    case Activity::kValue:
      return "conn_nread";
    case Activity::kSkipping:
      return "conn_swallow";
    case Activity::kSending:
      return "conn_mwrite";
    case Activity::kWatching:
      return "conn_watch";
    case Activity::kClosing:
      break;
  }
  return "conn_closing";
}

std::string WithScheme(const PeerAddress& peer, const std::string& address) {
  if (peer.is_unix()) return "unix:" + address;
  return (peer.family == PeerAddress::Family::kIpv6 ? "tcp6:" : "tcp:") + address;
}

std::string AddressOf(const PeerAddress& peer) {
  if (peer.is_unix()) return kNoAddress;
  const std::string ip =
      peer.family == PeerAddress::Family::kIpv6 ? "[" + peer.Ip() + "]" : peer.Ip();
  return WithScheme(peer, ip + ":" + std::to_string(peer.port));
}

}  // namespace

std::vector<command::ConnectionReport> ReportConnections(
    const std::vector<net::ConnectionListing>& sockets,
    const std::vector<net::ConnectionListing>& udp_sockets,
    const std::vector<net::ConnectionListing>& connections, std::uint32_t now_seconds) {
  std::vector<command::ConnectionReport> reports;
  reports.reserve(sockets.size() + connections.size());
  const auto seconds_since = [now_seconds](const net::ConnectionListing& one) {
    return now_seconds > one.last_active_seconds ? now_seconds - one.last_active_seconds : 0;
  };
  for (const net::ConnectionListing& socket : sockets) {
    reports.push_back({socket.id, WithScheme(socket.peer, socket.local_address), "",
                       "conn_listening", seconds_since(socket)});
  }
  for (const net::ConnectionListing& socket : udp_sockets) {
    const bool is_ipv6 = socket.peer.family == PeerAddress::Family::kIpv6;
    reports.push_back({socket.id, (is_ipv6 ? "udp6:" : "udp:") + socket.local_address, "",
                       "conn_read", seconds_since(socket), true});
  }
  for (const net::ConnectionListing& one : connections) {
    reports.push_back({one.id, AddressOf(one.peer), WithScheme(one.peer, one.local_address),
                       StateOf(one.activity), seconds_since(one)});
  }
  return reports;
}

}  // namespace podcache::server
