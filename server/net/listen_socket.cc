#include "server/net/listen_socket.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

namespace podcache::net {

namespace {

// How often a port chosen for one family is tried for the other before a new one is chosen.
constexpr int kPortAttempts = 16;

std::string Failure(const std::string& what, int number) {
  return "cannot listen on " + what + ": " + std::strerror(number);
}

bool IsMissingFamily(int number) {
  return number == EAFNOSUPPORT || number == EADDRNOTAVAIL || number == EPROTONOSUPPORT;
}

void Switch(int fd, int level, int option, int value) {
  ::setsockopt(fd, level, option, &value, sizeof(value));
}

// Of a socket for datagrams, instead of a backlog.
constexpr int kDatagrams = -1;

// 0, or the error number.
int Open(const SocketAddress& address, int backlog, ListenSocket& socket) {
  const bool stream = backlog != kDatagrams;
  const int type = (stream ? SOCK_STREAM : SOCK_DGRAM) | SOCK_NONBLOCK | SOCK_CLOEXEC;
  FileDescriptor fd(::socket(address.family(), type, 0));
  if (!fd.valid()) return errno;
  // For UDP it would let a second server take the port.
  if (stream) Switch(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.family() == AF_INET6) Switch(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 1);
  if (::bind(fd.get(), reinterpret_cast<const sockaddr*>(&address.storage), address.length) != 0 ||
      (stream && ::listen(fd.get(), backlog) != 0)) {
    return errno;
  }
  socket.address.length = sizeof(socket.address.storage);
  if (::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&socket.address.storage),
                    &socket.address.length) != 0) {
    return errno;
  }
  socket.fd = std::move(fd);
  return 0;
}

// One pass over the addresses. 0, or the error number and the index of the address it belongs to.
int OpenAll(std::vector<SocketAddress>& addresses, int backlog, std::vector<ListenSocket>& opened,
            std::size_t& failed) {
  std::uint16_t chosen = 0;
  int missing = 0;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    SocketAddress address = addresses[i];
    const bool any_port = address.port() == 0;
    if (any_port) address.set_port(chosen);
    ListenSocket socket;
    const int number = Open(address, backlog, socket);
    if (number == 0) {
      if (any_port) chosen = socket.address.port();
      opened.push_back(std::move(socket));
    } else if (IsMissingFamily(number)) {
      missing = number;
      failed = i;
    } else {
      failed = i;
      return number;
    }
  }
  return opened.empty() ? missing : 0;
}

bool SomebodyListens(const sockaddr_un& address) {
  const FileDescriptor probe(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!probe.valid()) return true;
  const int result =
      ::connect(probe.get(), reinterpret_cast<const sockaddr*>(&address), sizeof(address));
  return result == 0 || errno == EAGAIN;
}

bool Listen(std::vector<SocketAddress> addresses, int backlog, std::vector<ListenSocket>& sockets,
            std::string& error) {
  const bool any_port = std::all_of(addresses.begin(), addresses.end(),
                                    [](const SocketAddress& one) { return one.port() == 0; });
  for (int attempt = 1;; ++attempt) {
    std::vector<ListenSocket> opened;
    std::size_t failed = 0;
    const int number = OpenAll(addresses, backlog, opened, failed);
    if (number == 0) {
      std::move(opened.begin(), opened.end(), std::back_inserter(sockets));
      return true;
    }
    if (number == EADDRINUSE && any_port && attempt < kPortAttempts) continue;
    error = addresses.empty() ? "no address to listen on"
                              : Failure(addresses[failed].ToString(), number);
    return false;
  }
}

}  // namespace

bool ListenTcp(std::vector<SocketAddress> addresses, int backlog,
               std::vector<ListenSocket>& sockets, std::string& error) {
  return Listen(std::move(addresses), backlog, sockets, error);
}

bool ListenUdp(std::vector<SocketAddress> addresses, std::vector<ListenSocket>& sockets,
               std::string& error) {
  return Listen(std::move(addresses), kDatagrams, sockets, error);
}

bool IsValidUnixPath(const std::string& path) {
  return !path.empty() && path.size() < sizeof(sockaddr_un::sun_path);
}

bool ListenUnix(const std::string& path, mode_t mode, int backlog,
                std::vector<ListenSocket>& sockets, std::string& error) {
  if (!IsValidUnixPath(path)) {
    error = Failure(path, ENAMETOOLONG);
    return false;
  }
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path.c_str(), path.size());
  struct stat info {};
  if (::lstat(path.c_str(), &info) == 0) {
    if (!S_ISSOCK(info.st_mode)) {
      error = "cannot listen on " + path + ": the file exists and is no socket";
      return false;
    }
    if (SomebodyListens(address)) {
      error = Failure(path, EADDRINUSE);
      return false;
    }
    ::unlink(path.c_str());
  }
  FileDescriptor fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  // The mode holds from the first moment on; the mask is the process's, so this belongs to
  // start-up.
  const mode_t old_mask = ::umask(static_cast<mode_t>(~mode & 0777));
  const int bound =
      !fd.valid() ? -1 : ::bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof(address));
  const int bind_error = errno;
  ::umask(old_mask);
  if (bound != 0) {
    error = Failure(path, bind_error);
    return false;
  }
  if (::listen(fd.get(), backlog) != 0) {
    error = Failure(path, errno);
    ::unlink(path.c_str());
    return false;
  }
  ListenSocket socket;
  socket.fd = std::move(fd);
  socket.is_unix = true;
  socket.path = path;
  sockets.push_back(std::move(socket));
  return true;
}

void RemoveUnixPath(const ListenSocket& socket) {
  if (socket.is_unix) ::unlink(socket.path.c_str());
}

}  // namespace podcache::net
