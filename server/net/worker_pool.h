// The worker threads and the connections spread over them.
//
// A new connection goes to the worker with the fewest. The number of workers changes while they
// serve: a new one gets its share of the connections there are, those that leave pass their
// connections on to those that stay (worker.h). Connections are moved, never dropped, and no
// request fails.
//
// Stopping is a sequence: requests that have come in full are answered and idle connections closed,
// lingering ones waited for; at the deadline all the rest is closed; the threads are joined. The
// listener is stopped before.
//
// Threads: any. SetThreads and Stop wait for the workers concerned (a few turns), one caller at a
// time; the others don't. Ownership: factory and clock outlive the pool.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "server/net/connection_table.h"
#include "server/net/listen_socket.h"
#include "server/net/peer_address.h"
#include "server/net/request_handler.h"
#include "server/net/transport.h"
#include "server/net/worker.h"
#include "server/net/worker_settings.h"
#include "server/net/worker_stats.h"

namespace podcache::net {

inline constexpr std::uint32_t kMaxThreads = 256;

struct PoolSettings {
  std::uint32_t max_connections = 1024;
  WorkerSettings worker;
};

// Of one running worker.
struct WorkerReport {
  std::uint64_t connections = 0;
  std::uint64_t busy_ns = 0;
  std::uint64_t commands = 0;
};

struct PoolReport {
  std::uint32_t threads_target = 0;
  std::uint32_t threads_running = 0;
  std::uint64_t connections = 0;
  std::uint64_t connections_total = 0;  // Admitted since start.
  std::uint64_t connections_rejected = 0;
  std::uint64_t throttled = 0;  // Not read from, because their output is full.
  std::uint64_t idle_kicks = 0;
  std::uint64_t refused_tails = 0;  // Closed because half a request could not be kept.
  std::uint64_t read_buffers = 0;   // Partial requests kept.
  std::uint64_t read_buffer_bytes = 0;
  std::uint64_t reply_buffers = 0;  // Unsent replies kept.
  std::uint64_t reply_buffer_bytes = 0;
  TurnHistogram turns;  // Of all workers, also of those that are leaving or have left.
  std::vector<WorkerReport> workers;
};

class WorkerPool final : private ConnectionExchange {
 public:
  WorkerPool(RequestHandlerFactory& factory, const Clock& clock, const PoolSettings& settings);
  // Closes what is left.
  ~WorkerPool();

  // Brings the number of threads to `count` (1 … kMaxThreads) and returns when that is done. False
  // if the system has no more threads (then there are as many as could be had), the count is out of
  // range, or the pool was stopped.
  bool SetThreads(std::uint32_t count);
  std::uint32_t threads_target() const noexcept { return target_.load(); }
  std::uint32_t threads_running() const noexcept { return running_.load(); }

  // Takes a connection in if there is room for one more client; the caller keeps it otherwise (then
  // it was counted as rejected).
  bool Admit(std::unique_ptr<Transport>& transport, const PeerAddress& peer,
             std::uint8_t socket_tag = 0);
  bool HasRoom() const noexcept { return open_.load() < settings_.max_connections; }

  // All workers, also those that come later, answer what is sent to these UDP sockets from now on.
  void ServeDatagrams(std::vector<ListenSocket> sockets);

  void Stop(std::chrono::nanoseconds drain_time);

  PoolReport Report() const;
  // Ascending by id; no worker is stopped for it.
  std::vector<ConnectionListing> ListConnections() const { return table_.List(); }
  // The UDP sockets, ascending by id.
  std::vector<ConnectionListing> ListDatagramPorts() const;
  // For what is listed beside connections (listening sockets), before the first one is admitted.
  std::uint64_t NewId() noexcept { return last_id_.fetch_add(1) + 1; }

 private:
  std::unique_ptr<Connection> PassOn(std::unique_ptr<Connection> connection,
                                     std::uint64_t below) override;
  void Disperse(Departure departure) override;
  void OnConnectionClosed() noexcept override;
  ConnectionTable& connection_table() noexcept override { return table_; }
  std::uint64_t AddTailBytes(std::int64_t delta) noexcept override {
    if (delta != 0) tail_bytes_.fetch_add(static_cast<std::uint64_t>(delta));
    return tail_bytes_.load(std::memory_order_relaxed);
  }

  void AddLingering(std::int64_t delta) noexcept override;
  // A Stop that waits may go on.
  void TellAllClosed() noexcept;

  bool AddWorkers(std::uint32_t count) REQUIRES(resize_mutex_);
  void RemoveWorkers(std::uint32_t count) REQUIRES(resize_mutex_);
  // The last ones, to leaving_, in that order.
  std::vector<Worker*> TakeOutLocked(std::size_t count) REQUIRES(mutex_);
  // Of all that is in leaving_; they have been told.
  void AwaitEnd(const std::vector<Worker*>& leaving) REQUIRES(resize_mutex_);
  Worker& LeastLoadedLocked() REQUIRES(mutex_);
  void RememberLocked(const Worker& worker) REQUIRES(mutex_);
  void GiveDatagramsLocked(Worker& worker) REQUIRES(mutex_);

  RequestHandlerFactory& factory_;
  const Clock& clock_;
  const PoolSettings settings_;
  ConnectionTable table_;

  // Taken before mutex_; held while workers come and go.
  Mutex resize_mutex_;
  // Guards the list only: never held while waiting for a worker.
  mutable Mutex mutex_;
  std::vector<std::unique_ptr<Worker>> workers_ GUARDED_BY(mutex_);
  // Until they have ended; nothing is given to them any more.
  std::deque<std::unique_ptr<Worker>> leaving_ GUARDED_BY(mutex_);
  // Outlive the workers that use them.
  std::vector<std::unique_ptr<DatagramPort>> datagram_ports_ GUARDED_BY(mutex_);
  // Sums of the workers that have left.
  TurnHistogram past_turns_ GUARDED_BY(mutex_);
  std::uint64_t past_idle_kicks_ GUARDED_BY(mutex_) = 0;
  std::uint64_t past_refused_tails_ GUARDED_BY(mutex_) = 0;
  bool stopped_ GUARDED_BY(mutex_) = false;
  CondVar all_closed_;

  std::atomic<std::uint32_t> target_{0};
  std::atomic<std::uint32_t> running_{0};
  std::atomic<std::uint64_t> open_{0};
  std::atomic<std::uint64_t> admitted_{0};
  std::atomic<std::uint64_t> last_id_{0};
  std::atomic<std::uint64_t> tail_bytes_{0};
  std::atomic<std::uint64_t> lingering_{0};
  std::atomic<std::uint64_t> rejected_{0};
  std::atomic<bool> draining_{false};
};

}  // namespace podcache::net
