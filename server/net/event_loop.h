// RAII over libevent, which only says that something is ready: readiness of descriptors, timers,
// signals.
//
// Threads: a loop and everything that waits on it are used by one thread. Other threads reach it
// through a WakeUp. Ownership: what waits on a loop is stopped before the loop goes; a callback may
// stop or destroy its own watch. Callbacks are a plain function with its context: no allocation
// when a watch is started anew.
#pragma once

#include <event2/event.h>
#include <event2/event_struct.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <string_view>

#include "server/net/file_descriptor.h"

namespace podcache::net {

// Of the library in use, for statistics.
std::string_view LibeventVersion() noexcept;

class EventLoop {
 public:
  EventLoop();

  // One turn: waits (if may_block) until something is ready, then runs every callback that is due.
  void RunTurn(bool may_block) noexcept;

  event_base* base() const noexcept { return base_.get(); }

 private:
  struct Free {
    void operator()(event_base* base) const noexcept { event_base_free(base); }
  };
  std::unique_ptr<event_base, Free> base_;
};

using WatchCallback = void (*)(void* context);

// Waits for one thing; stopped by its destructor. Not movable: libevent holds its address.
class Watch {
 public:
  Watch() = default;
  Watch(const Watch&) = delete;
  Watch& operator=(const Watch&) = delete;
  ~Watch() { Stop(); }

  // Called again and again while the descriptor is ready, until stopped. Return false if the kernel
  // refuses.
  bool StartReadable(EventLoop& loop, int fd, WatchCallback callback, void* context) noexcept;
  bool StartWritable(EventLoop& loop, int fd, WatchCallback callback, void* context) noexcept;
  bool StartPeriodic(EventLoop& loop, std::chrono::microseconds period, WatchCallback callback,
                     void* context) noexcept;
  bool StartSignal(EventLoop& loop, int signal, WatchCallback callback, void* context) noexcept;
  void Stop() noexcept;
  bool active() const noexcept { return active_; }

 private:
  bool Start(EventLoop& loop, int fd, short what, const timeval* period, WatchCallback callback,
             void* context) noexcept;

  event event_{};
  WatchCallback callback_ = nullptr;
  void* context_ = nullptr;
  bool active_ = false;
};

// Wakes a loop from any thread: several wake-ups before the loop comes round count as one.
class WakeUp {
 public:
  WakeUp();
  void Start(EventLoop& loop, WatchCallback callback, void* context);
  // On the loop's thread, before the loop goes.
  void Finish() noexcept { watch_.Stop(); }
  void Signal() noexcept;

 private:
  static void OnReadable(void* self);

  FileDescriptor event_fd_;
  Watch watch_;
  WatchCallback callback_ = nullptr;
  void* context_ = nullptr;
};

}  // namespace podcache::net
