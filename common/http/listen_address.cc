#include "common/http/listen_address.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>

namespace podcache::http {

namespace {

constexpr int kBacklog = 128;

std::optional<std::uint16_t> ParsePort(std::string_view text) {
  std::uint16_t port = 0;
  const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), port);
  if (code != std::errc() || end != text.data() + text.size() || text.empty()) return std::nullopt;
  return port;
}

std::string Quoted(const ListenAddress& address) {
  return "'" + address.host + ":" + std::to_string(address.port) + "'";
}

// The socket, or -1 with errno.
int OpenOne(const sockaddr* address, socklen_t size, bool both_families) {
  const int fd = socket(address->sa_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  const int on = 1;
  const int v6only = both_families ? 0 : 1;
  bool ok = setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on)) == 0;
  if (address->sa_family == AF_INET6) {
    ok = ok && setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &v6only, sizeof(v6only)) == 0;
  }
  if (ok && bind(fd, address, size) == 0 && listen(fd, kBacklog) == 0) return fd;
  const int reason = errno;
  close(fd);
  errno = reason;
  return -1;
}

int OpenWildcard(std::uint16_t port) {
  sockaddr_in6 any6{};
  any6.sin6_family = AF_INET6;
  any6.sin6_port = htons(port);
  any6.sin6_addr = in6addr_any;
  const int fd = OpenOne(reinterpret_cast<const sockaddr*>(&any6), sizeof(any6), true);
  if (fd >= 0 || (errno != EAFNOSUPPORT && errno != EADDRNOTAVAIL && errno != EPROTONOSUPPORT))
    return fd;
  sockaddr_in any4{};
  any4.sin_family = AF_INET;
  any4.sin_port = htons(port);
  return OpenOne(reinterpret_cast<const sockaddr*>(&any4), sizeof(any4), false);
}

}  // namespace

bool ListenAddress::is_loopback() const {
  if (is_unix() || host == "localhost") return true;
  in_addr v4{};
  if (inet_pton(AF_INET, host.c_str(), &v4) == 1) return (ntohl(v4.s_addr) >> 24) == 127;
  in6_addr v6{};
  return inet_pton(AF_INET6, host.c_str(), &v6) == 1 && IN6_IS_ADDR_LOOPBACK(&v6) != 0;
}

std::optional<ListenAddress> ParseListenAddress(std::string_view text, std::string* error) {
  const auto fail = [&](std::string_view why) {
    *error = "'" + std::string(text) + "' is no listen address: " + std::string(why);
    return std::nullopt;
  };
  ListenAddress address;
  if (text.starts_with("unix:")) {
    address.unix_path = text.substr(5);
    if (address.unix_path.empty()) return fail("the path is missing");
    if (address.unix_path.size() >= sizeof(sockaddr_un::sun_path)) {
      return fail("a socket's path has at most " +
                  std::to_string(sizeof(sockaddr_un::sun_path) - 1) + " bytes");
    }
    return address;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos)
    return fail("expected host:port, [v6]:port, *:port or unix:PATH");
  const auto port = ParsePort(text.substr(colon + 1));
  if (!port) return fail("the port must be a number from 0 to 65535");
  address.port = *port;
  std::string_view host = text.substr(0, colon);
  const bool in_brackets = host.size() > 2 && host.front() == '[' && host.back() == ']';
  if (in_brackets) host = host.substr(1, host.size() - 2);
  if (host.empty()) return fail("the host is missing; use * for all addresses");
  address.host = host;
  in6_addr v6{};
  const bool is_v6 = inet_pton(AF_INET6, address.host.c_str(), &v6) == 1;
  if (is_v6 != in_brackets) return fail("an IPv6 address, and nothing else, stands in brackets");
  return address;
}

std::optional<std::vector<int>> OpenListenSockets(const ListenAddress& address,
                                                  std::string* error) {
  if (address.host == "*") {
    const int fd = OpenWildcard(address.port);
    if (fd >= 0) return std::vector<int>{fd};
    *error = "cannot listen on " + Quoted(address) + ": " + std::strerror(errno);
    return std::nullopt;
  }
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* raw = nullptr;
  const int code =
      getaddrinfo(address.host.c_str(), std::to_string(address.port).c_str(), &hints, &raw);
  if (code != 0) {
    *error = "cannot resolve " + Quoted(address) + ": " + gai_strerror(code);
    return std::nullopt;
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> found(raw, freeaddrinfo);
  std::vector<int> sockets;
  for (const addrinfo* entry = found.get(); entry != nullptr; entry = entry->ai_next) {
    const int fd = OpenOne(entry->ai_addr, entry->ai_addrlen, false);
    if (fd >= 0) {
      sockets.push_back(fd);
      continue;
    }
    *error = "cannot listen on " + Quoted(address) + ": " + std::strerror(errno);
    if (errno == EAFNOSUPPORT || errno == EADDRNOTAVAIL) continue;
    for (const int open : sockets) close(open);
    return std::nullopt;
  }
  if (sockets.empty()) return std::nullopt;
  return sockets;
}

std::string LocalAddress(int fd) {
  sockaddr_storage storage{};
  socklen_t size = sizeof(storage);
  if (getsockname(fd, reinterpret_cast<sockaddr*>(&storage), &size) != 0) return {};
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (storage.ss_family == AF_INET6) {
    const auto* v6 = reinterpret_cast<const sockaddr_in6*>(&storage);
    inet_ntop(AF_INET6, &v6->sin6_addr, text.data(), text.size());
    return "[" + std::string(text.data()) + "]:" + std::to_string(ntohs(v6->sin6_port));
  }
  const auto* v4 = reinterpret_cast<const sockaddr_in*>(&storage);
  inet_ntop(AF_INET, &v4->sin_addr, text.data(), text.size());
  return std::string(text.data()) + ":" + std::to_string(ntohs(v4->sin_port));
}

}  // namespace podcache::http
