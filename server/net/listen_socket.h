// Sockets that wait for clients: TCP and UDP of both families, and Unix sockets.
//
// Each family has a socket of its own (an IPv6 socket never takes IPv4 clients), so that either may
// be missing.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "server/net/file_descriptor.h"
#include "server/net/socket_address.h"

namespace podcache::net {

struct ListenSocket {
  FileDescriptor fd;
  bool is_unix = false;
  std::uint8_t tag = 0;   // Given to the handlers of its clients.
  SocketAddress address;  // As bound, with the port the kernel chose. TCP and UDP only.
  std::string path;       // Unix only; removed by RemoveUnixPath.
};

// Opens a socket for each address. With port 0 in all of them the kernel chooses one port, the same
// for all where possible. A family the kernel lacks, or an address it has not got (no IPv6), is
// passed over as long as one address is left; any other failure ends it: false with a reason.
bool ListenTcp(std::vector<SocketAddress> addresses, int backlog,
               std::vector<ListenSocket>& sockets, std::string& error);

// The same for UDP, which has no queue of clients.
bool ListenUdp(std::vector<SocketAddress> addresses, std::vector<ListenSocket>& sockets,
               std::string& error);

// A file left behind by a server that is gone is replaced; one in use is an error, as is a file
// that is no socket.
bool ListenUnix(const std::string& path, mode_t mode, int backlog,
                std::vector<ListenSocket>& sockets, std::string& error);

// Whether the path can be the name of a Unix socket at all (its length).
bool IsValidUnixPath(const std::string& path);

// Removes the file of a Unix socket of ours.
void RemoveUnixPath(const ListenSocket& socket);

}  // namespace podcache::net
