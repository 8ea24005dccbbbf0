// The least that can answer memcached's get and set: lines are split, every key has the same value.
// One receive, one send, and nothing kept but the beginning of a request. What it costs is the
// ceiling for any server behind ordinary sockets and epoll.
//
// Knows no errors: for podcache-bench alone, on the loopback interface.
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <array>
#include <cstdio>
#include <cstring>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace {

constexpr std::size_t kReceiveBytes = 64 * 1024;

struct Client {
  int fd;
  std::string tail;  // The beginning of a request.
};

class Stub {
 public:
  Stub(int listener, std::size_t value_bytes)
      : listener_(listener),
        value_(" 0 " + std::to_string(value_bytes) + "\r\n" + std::string(value_bytes, 'x') +
               "\r\n") {}

  void Run() {
    const int epoll = ::epoll_create1(0);
    const auto watch = [&](int fd, void* who, unsigned what) {
      epoll_event event{};
      event.events = what;
      event.data.ptr = who;
      ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
    };
    watch(listener_, nullptr, EPOLLIN | unsigned{EPOLLEXCLUSIVE});
    std::array<epoll_event, 256> events;
    while (true) {
      const int n = ::epoll_wait(epoll, events.data(), static_cast<int>(events.size()), -1);
      for (int i = 0; i < n; ++i) {
        auto* const client = static_cast<Client*>(events[static_cast<std::size_t>(i)].data.ptr);
        if (client != nullptr) {
          Serve(client);
        } else if (const int fd = ::accept(listener_, nullptr, nullptr); fd >= 0) {
          const int on = 1;
          ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
          watch(fd, new Client{fd, {}}, EPOLLIN);
        }
      }
    }
  }

 private:
  void Serve(Client* client) {
    const std::size_t kept = client->tail.size();
    if (room_.size() < kept + kReceiveBytes) room_.resize(kept + kReceiveBytes);
    std::memcpy(room_.data(), client->tail.data(), kept);
    const ssize_t n = ::recv(client->fd, room_.data() + kept, kReceiveBytes, 0);
    if (n <= 0) {
      ::close(client->fd);
      delete client;
      return;
    }
    std::string_view rest(room_.data(), kept + static_cast<std::size_t>(n));
    replies_.clear();
    while (const std::size_t taken = TakeOne(rest)) rest.remove_prefix(taken);
    client->tail = rest;
    if (!replies_.empty()) ::send(client->fd, replies_.data(), replies_.size(), MSG_NOSIGNAL);
  }

  // Bytes of the request; 0 when it is not complete.
  std::size_t TakeOne(std::string_view rest) {
    const std::size_t line = rest.find('\n') + 1;
    if (line == 0) return 0;
    if (rest.starts_with("get ")) {
      AnswerKeys(rest.substr(4, line - 6));
      return line;
    }
    std::size_t bytes = 0;
    std::size_t place = 1;
    for (std::size_t i = line - 3; rest[i] != ' '; --i, place *= 10)
      bytes += static_cast<std::size_t>(rest[i] - '0') * place;
    if (rest.size() < line + bytes + 2) return 0;
    replies_ += "STORED\r\n";
    return line + bytes + 2;
  }

  void AnswerKeys(std::string_view keys) {
    while (true) {
      const std::size_t space = keys.find(' ');
      replies_ += "VALUE ";
      replies_ += keys.substr(0, space);
      replies_ += value_;
      if (space == std::string_view::npos) break;
      keys.remove_prefix(space + 1);
    }
    replies_ += "END\r\n";
  }

  const int listener_;
  const std::string value_;
  std::vector<char> room_;
  std::string replies_;
};

int Listen(int port, const std::string& path) {
  int listener = -1;
  int bound = -1;
  if (!path.empty()) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    std::strncpy(name.sun_path, path.c_str(), sizeof(name.sun_path) - 1);
    listener = ::socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0);
    bound = ::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  } else {
    sockaddr_in name{};
    name.sin_family = AF_INET;
    name.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    name.sin_port = htons(static_cast<std::uint16_t>(port));
    listener = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0);
    const int on = 1;
    ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof(on));
    bound = ::bind(listener, reinterpret_cast<const sockaddr*>(&name), sizeof(name));
  }
  return bound == 0 && ::listen(listener, 1024) == 0 ? listener : -1;
}

}  // namespace

int main(int argc, char** argv) {
  int port = 11211;
  std::string path;
  unsigned threads = 1;
  std::size_t value_bytes = 128;
  CLI::App app("Answers every get with a constant: the ceiling for podcache-bench.");
  app.add_option("-p", port, "TCP port on 127.0.0.1");
  app.add_option("-s", path, "Unix socket instead");
  app.add_option("-t", threads, "threads");
  app.add_option("--value-bytes", value_bytes, "bytes of each value");
  CLI11_PARSE(app, argc, argv);
  const int listener = Listen(port, path);
  if (listener < 0) {
    std::perror("bench-stub: cannot listen");
    return 1;
  }
  std::vector<std::thread> others;
  for (unsigned i = 1; i < threads; ++i)
    others.emplace_back([&] { Stub(listener, value_bytes).Run(); });
  Stub(listener, value_bytes).Run();
}
