// The other end of a connection in tests: blocking, with a limit on every wait so that a lost reply
// fails the test instead of hanging it.
#pragma once

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <string>
#include <string_view>
#include <utility>

#include "server/net/file_descriptor.h"
#include "server/net/transport.h"

namespace podcache::net {

class TestClient {
 public:
  explicit TestClient(FileDescriptor fd) : fd_(std::move(fd)) {}

  // A pair of connected sockets: a client, and the transport for the server's side.
  static TestClient Pair(std::unique_ptr<Transport>& server_side, int buffer_bytes = 0) {
    int fds[2] = {-1, -1};
    ::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds);
    FileDescriptor server(fds[1]);
    if (buffer_bytes > 0) {
      for (const int fd : fds) {
        ::setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &buffer_bytes, sizeof(buffer_bytes));
        ::setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &buffer_bytes, sizeof(buffer_bytes));
      }
    }
    SetNonBlocking(server.get());
    server_side = NewPlainTransport(std::move(server));
    return TestClient(FileDescriptor(fds[0]));
  }

  bool Send(std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      bytes.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // What fits without waiting.
  std::size_t SendSome(std::string_view bytes) {
    const ssize_t n = ::send(fd_.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return n > 0 ? static_cast<std::size_t>(n) : 0;
  }
  // Exactly n bytes; fewer if the server closed or nothing came for ten seconds.
  std::string Receive(std::size_t n) {
    std::string bytes(n, '\0');
    std::size_t have = 0;
    while (have < n && WaitReadable(10'000)) {
      const ssize_t got = ::recv(fd_.get(), bytes.data() + have, n - have, 0);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    bytes.resize(have);
    return bytes;
  }
  // Up to and with the next \n.
  std::string ReceiveLine() {
    std::string line;
    while (line.empty() || line.back() != '\n') {
      const std::string one = Receive(1);
      if (one.empty()) break;
      line += one;
    }
    return line;
  }
  // True once the server has closed, after reading away whatever it sent.
  bool WaitClosed() {
    char bytes[65536];
    while (WaitReadable(10'000)) {
      if (::recv(fd_.get(), bytes, sizeof(bytes), 0) <= 0) return true;
    }
    return false;
  }
  // After all that was sent: 0 if the server has ended its side in order, else why not.
  int ReasonOfEnd() {
    char bytes[65536];
    while (WaitReadable(10'000)) {
      const ssize_t got = ::recv(fd_.get(), bytes, sizeof(bytes), 0);
      if (got <= 0) return got == 0 ? 0 : errno;
    }
    return ETIMEDOUT;
  }
  // True if the server takes no more, in the end.
  bool IsRefused() {
    const std::string piece(4096, 'x');
    for (int i = 0; i < 10'000; ++i) {
      pollfd one{fd_.get(), POLLOUT, 0};
      if (::poll(&one, 1, 10) > 0 && !Send(piece)) return true;
    }
    return false;
  }
  void EndSending() { ::shutdown(fd_.get(), SHUT_WR); }
  void Close() { fd_.Reset(); }
  int fd() const { return fd_.get(); }

 private:
  static void SetNonBlocking(int fd) { ::fcntl(fd, F_SETFL, ::fcntl(fd, F_GETFL) | O_NONBLOCK); }
  bool WaitReadable(int timeout_ms) {
    pollfd one{fd_.get(), POLLIN, 0};
    int ready = 0;
    do {
      ready = ::poll(&one, 1, timeout_ms);
    } while (ready < 0 && errno == EINTR);
    return ready > 0;
  }

  FileDescriptor fd_;
};

}  // namespace podcache::net
