// An epoll descriptor: which of many connections have something to read, or room to write.
#pragma once

#include <sys/epoll.h>

#include <cstddef>
#include <span>

namespace podcache::bench {

class Epoll {
 public:
  // These throw Failure.
  Epoll();
  void Add(int fd, void* who);
  // Also told when it can be written to.
  void SetWritable(int fd, void* who, bool wanted);

  ~Epoll();
  Epoll(const Epoll&) = delete;
  Epoll& operator=(const Epoll&) = delete;

  // Of those that are ready, some, in `room`. data.ptr is who.
  std::span<const epoll_event> Wait(std::span<epoll_event> room, int timeout_ms) noexcept;

 private:
  void Control(int operation, int fd, void* who, unsigned what);

  const int fd_;
};

}  // namespace podcache::bench
