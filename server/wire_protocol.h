// Which protocol the clients of one listening socket speak.
#pragma once

#include <cstdint>

namespace podcache {

// As net::ConnectionInfo::socket_tag carries it: 0 is what a socket speaks if nobody says.
enum class WireProtocol : std::uint8_t {
  kNegotiating,  // The first byte of a connection tells.
  kText,
  kBinary,
};

}  // namespace podcache
