// A connection to the server: "host:port" or "unix:/path". Never waits once it is open.
#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>

namespace podcache::bench {

// What ends a run: the server is gone, an argument is wrong.
class Failure : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ClientSocket {
 public:
  // Throws Failure.
  explicit ClientSocket(const std::string& address);
  ClientSocket(ClientSocket&& other) noexcept;
  ClientSocket& operator=(ClientSocket&&) = delete;
  ~ClientSocket();

  int fd() const noexcept { return fd_; }
  // How much the kernel took, or gave; 0 if it would have to wait. Throws Failure when the
  // connection is lost.
  std::size_t Send(std::span<const char> bytes);
  std::size_t Receive(std::span<char> room);

 private:
  int fd_ = -1;
};

}  // namespace podcache::bench
