// A raw HTTP client for tests: sends the bytes given and reads until the peer closes, so that
// nothing between hides what the endpoint does.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <string>
#include <string_view>

namespace podcache::http {

class RawConnection {
 public:
  // `address` as Endpoint::bound_addresses has it.
  explicit RawConnection(const std::string& address) {
    const std::size_t colon = address.rfind(':');
    const auto port = static_cast<std::uint16_t>(std::stoi(address.substr(colon + 1)));
    timeval timeout{10, 0};
    if (address.front() == '[') {
      sockaddr_in6 peer{};
      peer.sin6_family = AF_INET6;
      peer.sin6_port = htons(port);
      inet_pton(AF_INET6, address.substr(1, colon - 2).c_str(), &peer.sin6_addr);
      fd_ = socket(AF_INET6, SOCK_STREAM, 0);
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof(peer)) == 0;
    } else {
      sockaddr_in peer{};
      peer.sin_family = AF_INET;
      peer.sin_port = htons(port);
      inet_pton(AF_INET, address.substr(0, colon).c_str(), &peer.sin_addr);
      fd_ = socket(AF_INET, SOCK_STREAM, 0);
      connected_ = connect(fd_, reinterpret_cast<sockaddr*>(&peer), sizeof(peer)) == 0;
    }
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &timeout, sizeof(timeout));
  }
  ~RawConnection() { close(fd_); }
  RawConnection(const RawConnection&) = delete;
  RawConnection& operator=(const RawConnection&) = delete;

  bool connected() const { return connected_; }
  void Send(std::string_view bytes) {
    [[maybe_unused]] const auto sent = send(fd_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
  }
  std::string ReadAll() {
    std::string all;
    std::array<char, 4096> piece{};
    for (ssize_t n = 0; (n = recv(fd_, piece.data(), piece.size(), 0)) > 0;) {
      all.append(piece.data(), static_cast<std::size_t>(n));
    }
    return all;
  }

 private:
  int fd_ = -1;
  bool connected_ = false;
};

inline std::string Exchange(const std::string& address, std::string_view request) {
  RawConnection connection(address);
  connection.Send(request);
  return connection.ReadAll();
}

inline std::string Get(const std::string& address, std::string_view path) {
  return Exchange(address,
                  "GET " + std::string(path) + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
}

}  // namespace podcache::http
