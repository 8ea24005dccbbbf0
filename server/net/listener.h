// The one acceptor: takes clients from all listening sockets and gives them to the pool.
//
// At the connection limit a client either gets a line of text and is closed, or is left in the
// kernel's queue until another one has gone. When the process or the machine is out of descriptors
// or memory, accepting pauses for a moment; nobody is lost meanwhile.
//
// Threads: Start and Stop on the loop's thread; report() on any.
// Ownership: loop and pool outlive the listener; the sockets are the listener's.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "server/net/event_loop.h"
#include "server/net/lingering_closes.h"
#include "server/net/listen_socket.h"
#include "server/net/worker_pool.h"

namespace podcache::net {

struct ListenerSettings {
  // Sent to a client above the limit before it is closed.
  std::string rejection_text;
  // False: such clients wait in the kernel's queue.
  bool reject_when_full = true;
  // After that text.
  LingerSettings linger = {};
};

struct ListenerReport {
  bool accepting = false;
  std::uint64_t disabled_count = 0;  // How often accepting paused.
  std::uint64_t disabled_us = 0;     // For how long in all.
};

class Listener {
 public:
  Listener(EventLoop& loop, WorkerPool& pool, const Clock& clock, ListenerSettings settings);
  ~Listener();

  bool Start(std::vector<ListenSocket> sockets);
  // Closes the sockets: clients in the kernel's queue are refused. Removes the files of Unix
  // sockets.
  void Stop();

  ListenerReport report() const;
  // The sockets, as `stats conns` shows them. Any thread, between Start and Stop.
  std::vector<ConnectionListing> ListSockets() const { return listings_; }

 private:
  struct Entry {
    Listener& listener;
    ListenSocket socket;
    Watch watch;
  };

  void AcceptFrom(Entry& entry);
  void Welcome(FileDescriptor client, const PeerAddress& peer, std::uint8_t socket_tag);
  void Pause();
  void TryToGoOn();
  bool WatchAll();

  EventLoop& loop_;
  WorkerPool& pool_;
  const Clock& clock_;
  const ListenerSettings settings_;
  std::vector<std::unique_ptr<Entry>> entries_;
  std::vector<ConnectionListing> listings_;
  Watch pause_timer_;
  LingeringCloses rejected_;
  std::atomic<bool> accepting_{false};
  std::atomic<std::uint64_t> disabled_count_{0};
  std::atomic<std::uint64_t> disabled_us_{0};
  std::chrono::nanoseconds paused_since_{0};
};

}  // namespace podcache::net
