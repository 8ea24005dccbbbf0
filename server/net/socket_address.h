// Addresses of the Internet protocols and names that stand for them.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

#include <cstdint>
#include <string>
#include <vector>

namespace podcache::net {

struct SocketAddress {
  sockaddr_storage storage{};
  socklen_t length = 0;

  int family() const noexcept { return storage.ss_family; }
  std::uint16_t port() const noexcept;
  void set_port(std::uint16_t port) noexcept;
  // "192.0.2.1:11211", "[2001:db8::1]:11211".
  std::string ToString() const;
};

// All addresses a host name or a literal stands for, to listen on; an empty host or "*" means every
// address of both families. False with a reason if there is none.
bool Resolve(const std::string& host, std::uint16_t port, std::vector<SocketAddress>& addresses,
             std::string& error);

// 127.0.0.1 and ::1.
std::vector<SocketAddress> LoopbackAddresses(std::uint16_t port);

// "host", "host:port", "[v6]:port", "v6" (several colons and no brackets). `port` is left alone
// where the text has none. False if it cannot be such a thing.
bool SplitHostPort(const std::string& text, std::string& host, int& port);

}  // namespace podcache::net
