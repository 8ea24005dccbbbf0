#include "server/net/peer_address.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <cstring>

namespace podcache::net {

PeerAddress PeerAddress::From(const sockaddr_storage& address) noexcept {
  PeerAddress peer;
  if (address.ss_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, &address, sizeof(in));
    peer.family = Family::kIpv4;
    peer.port = ntohs(in.sin_port);
    std::memcpy(peer.ip.data(), &in.sin_addr, sizeof(in.sin_addr));
  } else if (address.ss_family == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &address, sizeof(in));
    peer.family = Family::kIpv6;
    peer.port = ntohs(in.sin6_port);
    std::memcpy(peer.ip.data(), &in.sin6_addr, sizeof(in.sin6_addr));
  }
  return peer;
}

std::string PeerAddress::Ip() const {
  if (is_unix()) return "";
  char text[INET6_ADDRSTRLEN] = "";
  ::inet_ntop(family == Family::kIpv4 ? AF_INET : AF_INET6, ip.data(), text, sizeof(text));
  return text;
}

}  // namespace podcache::net
