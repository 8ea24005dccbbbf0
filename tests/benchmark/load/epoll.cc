#include "tests/benchmark/load/epoll.h"

#include <unistd.h>

#include "tests/benchmark/load/client_socket.h"

namespace podcache::bench {

Epoll::Epoll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (fd_ < 0) throw Failure("no epoll descriptor");
}

Epoll::~Epoll() { ::close(fd_); }

void Epoll::Add(int fd, void* who) { Control(EPOLL_CTL_ADD, fd, who, EPOLLIN); }

void Epoll::SetWritable(int fd, void* who, bool wanted) {
  const unsigned writable = EPOLLOUT;
  Control(EPOLL_CTL_MOD, fd, who, wanted ? EPOLLIN | writable : unsigned{EPOLLIN});
}

void Epoll::Control(int operation, int fd, void* who, unsigned what) {
  epoll_event event{};
  event.events = what;
  event.data.ptr = who;
  if (::epoll_ctl(fd_, operation, fd, &event) != 0) throw Failure("cannot watch a connection");
}

std::span<const epoll_event> Epoll::Wait(std::span<epoll_event> room, int timeout_ms) noexcept {
  const int n = ::epoll_wait(fd_, room.data(), static_cast<int>(room.size()), timeout_ms);
  return room.first(n > 0 ? static_cast<std::size_t>(n) : 0);
}

}  // namespace podcache::bench
