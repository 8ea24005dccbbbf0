#include "server/net/socket_address.h"

#include <arpa/inet.h>
#include <netdb.h>

#include <algorithm>
#include <charconv>
#include <cstring>
#include <memory>

namespace podcache::net {

namespace {

SocketAddress Ipv4(const in_addr& host, std::uint16_t port) {
  SocketAddress address;
  sockaddr_in in{};
  in.sin_family = AF_INET;
  in.sin_addr = host;
  in.sin_port = htons(port);
  std::memcpy(&address.storage, &in, sizeof(in));
  address.length = sizeof(in);
  return address;
}

SocketAddress Ipv6(const in6_addr& host, std::uint16_t port) {
  SocketAddress address;
  sockaddr_in6 in{};
  in.sin6_family = AF_INET6;
  in.sin6_addr = host;
  in.sin6_port = htons(port);
  std::memcpy(&address.storage, &in, sizeof(in));
  address.length = sizeof(in);
  return address;
}

bool ParsePort(const std::string& text, int& port) {
  int value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc() || stop != end || text.empty() || value < -1 || value > 65535)
    return false;
  port = value;
  return true;
}

}  // namespace

std::uint16_t SocketAddress::port() const noexcept {
  if (family() == AF_INET6) {
    sockaddr_in6 in{};
    std::memcpy(&in, &storage, sizeof(in));
    return ntohs(in.sin6_port);
  }
  sockaddr_in in{};
  std::memcpy(&in, &storage, sizeof(in));
  return ntohs(in.sin_port);
}

void SocketAddress::set_port(std::uint16_t port) noexcept {
  // Both families keep the port at the same place, behind the family.
  static_assert(offsetof(sockaddr_in, sin_port) == offsetof(sockaddr_in6, sin6_port));
  const std::uint16_t network = htons(port);
  std::memcpy(reinterpret_cast<char*>(&storage) + offsetof(sockaddr_in, sin_port), &network,
              sizeof(network));
}

std::string SocketAddress::ToString() const {
  char host[NI_MAXHOST];
  char port_text[NI_MAXSERV];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&storage), length, host, sizeof(host),
                    port_text, sizeof(port_text), NI_NUMERICHOST | NI_NUMERICSERV) != 0) {
    return "?";
  }
  const std::string name = family() == AF_INET6 ? "[" + std::string(host) + "]" : host;
  return name + ":" + port_text;
}

bool Resolve(const std::string& host, std::uint16_t port, std::vector<SocketAddress>& addresses,
             std::string& error) {
  if (host.empty() || host == "*") {
    addresses.push_back(Ipv4(in_addr{htonl(INADDR_ANY)}, port));
    addresses.push_back(Ipv6(in6addr_any, port));
    return true;
  }
  addrinfo hints{};
  hints.ai_flags = AI_PASSIVE;
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failure = ::getaddrinfo(host.c_str(), nullptr, &hints, &found);
  if (failure != 0) {
    error = "cannot resolve \"" + host + "\": " + ::gai_strerror(failure);
    return false;
  }
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, &::freeaddrinfo);
  for (const addrinfo* one = found; one != nullptr; one = one->ai_next) {
    if (one->ai_family != AF_INET && one->ai_family != AF_INET6) continue;
    SocketAddress address;
    std::memcpy(&address.storage, one->ai_addr, one->ai_addrlen);
    address.length = one->ai_addrlen;
    address.set_port(port);
    addresses.push_back(address);
  }
  if (addresses.empty()) error = "\"" + host + "\" has no IPv4 or IPv6 address";
  return !addresses.empty();
}

std::vector<SocketAddress> LoopbackAddresses(std::uint16_t port) {
  return {Ipv4(in_addr{htonl(INADDR_LOOPBACK)}, port), Ipv6(in6addr_loopback, port)};
}

bool SplitHostPort(const std::string& text, std::string& host, int& port) {
  if (!text.empty() && text.front() == '[') {
    const std::size_t close = text.find(']');
    if (close == std::string::npos) return false;
    host = text.substr(1, close - 1);
    if (close + 1 == text.size()) return !host.empty();
    return text[close + 1] == ':' && !host.empty() && ParsePort(text.substr(close + 2), port);
  }
  const auto colons = std::count(text.begin(), text.end(), ':');
  if (colons != 1) {
    host = text;
    return !text.empty();
  }
  const std::size_t colon = text.find(':');
  host = text.substr(0, colon);
  return ParsePort(text.substr(colon + 1), port);
}

}  // namespace podcache::net
