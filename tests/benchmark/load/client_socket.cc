#include "tests/benchmark/load/client_socket.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>

namespace podcache::bench {

namespace {

constexpr std::string_view kUnix = "unix:";

[[noreturn]] void Fail(const std::string& what) { throw Failure(what + ": " + strerror(errno)); }

int ConnectUnix(const std::string& address) {
  const std::string path = address.substr(kUnix.size());
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof(name.sun_path)) throw Failure("the path is too long: " + path);
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, reinterpret_cast<const sockaddr*>(&name), sizeof(name)) != 0)
    Fail("cannot connect to " + address);
  return fd;
}

int ConnectTcp(const std::string& address) {
  const std::size_t colon = address.rfind(':');
  if (colon == std::string::npos) throw Failure("neither host:port nor unix:/path: " + address);
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const std::string host = address.substr(0, colon);
  const int code = ::getaddrinfo(host.c_str(), address.c_str() + colon + 1, &hints, &found);
  if (code != 0) throw Failure("no such host: " + address + ": " + gai_strerror(code));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, ::freeaddrinfo);
  const int fd = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd < 0 || ::connect(fd, found->ai_addr, found->ai_addrlen) != 0)
    Fail("cannot connect to " + address);
  const int on = 1;
  ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
  return fd;
}

bool MustWait() noexcept { return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR; }

}  // namespace

ClientSocket::ClientSocket(const std::string& address)
    : fd_(address.starts_with(kUnix) ? ConnectUnix(address) : ConnectTcp(address)) {
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
}

ClientSocket::ClientSocket(ClientSocket&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}

ClientSocket::~ClientSocket() {
  if (fd_ >= 0) ::close(fd_);
}

std::size_t ClientSocket::Send(std::span<const char> bytes) {
  const ssize_t n = ::send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  if (n >= 0) return static_cast<std::size_t>(n);
  if (!MustWait()) Fail("cannot send");
  return 0;
}

std::size_t ClientSocket::Receive(std::span<char> room) {
  const ssize_t n = ::recv(fd_, room.data(), room.size(), 0);
  if (n > 0) return static_cast<std::size_t>(n);
  if (n == 0) throw Failure("the server closed a connection");
  if (!MustWait()) Fail("cannot receive");
  return 0;
}

}  // namespace podcache::bench
