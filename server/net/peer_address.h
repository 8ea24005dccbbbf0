// Who is at the other end of a connection, small enough to keep for each of them.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <string>

namespace podcache::net {

struct PeerAddress {
  enum class Family : std::uint8_t { kUnix, kIpv4, kIpv6 };

  // Anything but an Internet address counts as a Unix client: those have no name.
  static PeerAddress From(const sockaddr_storage& address) noexcept;
  bool is_unix() const noexcept { return family == Family::kUnix; }
  // "192.0.2.1", "2001:db8::1"; empty for a Unix client.
  std::string Ip() const;

  Family family = Family::kUnix;
  std::uint16_t port = 0;
  std::array<std::uint8_t, 16> ip{};
};
static_assert(sizeof(PeerAddress) == 20, "kept for every connection");

}  // namespace podcache::net
