// Ends connections so that the peer can read all that was sent to it.
//
// A socket that is closed while input lies unread in it, or still arrives, is answered by the
// kernel with a reset, and a reset takes from the peer what it has not read yet: the very reply
// that says why. So the sending side is ended first, and what comes is read and thrown away until
// the peer has ended too. That is bounded in time, in bytes, and in connections: whoever makes more
// of it is reset.
//
// Threads: those of its loop. Ownership: owns the transports; gone before the loop.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "server/net/event_loop.h"
#include "server/net/transport.h"

namespace podcache::net {

struct LingerSettings {
  std::chrono::nanoseconds time = std::chrono::seconds(2);
  // More than a packet of the binary protocol with a value of the usual limit.
  std::size_t bytes = std::size_t{4} << 20;
  std::size_t connections = 32;
  // How often those whose time is over are looked for.
  std::chrono::milliseconds check_period{100};
};

class LingeringCloses {
 public:
  // Closes at once what is left.
  ~LingeringCloses() { Clear(); }

  void Add(EventLoop& loop, const Clock& clock, const LingerSettings& settings,
           std::unique_ptr<Transport> transport);
  void Clear() noexcept;
  // For another loop, which begins anew with them.
  std::vector<std::unique_ptr<Transport>> TakeAll();
  std::size_t size() const noexcept { return size_; }

 private:
  struct Entry {
    LingeringCloses& owner;
    std::unique_ptr<Transport> transport;
    std::chrono::nanoseconds deadline{0};
    std::size_t bytes_left = 0;
    Watch readable;
    Entry* previous = nullptr;
    Entry* next = nullptr;
  };

  static void OnReadable(void* entry);
  void CloseLate();
  void Close(Entry& entry) noexcept;

  const Clock* clock_ = nullptr;
  Watch timer_;
  // The oldest is first.
  Entry* first_ = nullptr;
  Entry* last_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace podcache::net
