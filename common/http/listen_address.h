// Where to listen, as text, and the listening sockets for it.
//
//   host:port       a name or IPv4 address; a name listens on every address it has
//   [v6]:port       an IPv6 address
//   *:port          every address of both families; IPv4 alone, without a word, where the kernel
//   has no IPv6 unix:PATH       a Unix socket
// Port 0 lets the kernel choose.
//
// Threads: pure functions; sockets belong to the caller.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::http {

struct ListenAddress {
  std::string host;  // "*", a name or an address without brackets; empty for a Unix socket.
  std::uint16_t port = 0;
  std::string unix_path;  // Empty for TCP.

  bool is_unix() const { return !unix_path.empty(); }
  // True for Unix sockets, 127.0.0.0/8, ::1 and the name localhost: nobody outside this host (or
  // pod) can connect.
  bool is_loopback() const;
};

// Nothing and the reason in `error` if the text is no such address.
std::optional<ListenAddress> ParseListenAddress(std::string_view text, std::string* error);

// Non-blocking listening TCP sockets, one for each address the host has; at least one. An address
// of a family this kernel does not have is passed over as long as another one works. Nothing, no
// socket left open and the reason in `error` otherwise.
std::optional<std::vector<int>> OpenListenSockets(const ListenAddress& address, std::string* error);

// "127.0.0.1:80", "[::1]:80" of a bound socket.
std::string LocalAddress(int fd);

}  // namespace podcache::http
