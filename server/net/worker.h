// A thread with an event loop that serves the connections it was given, to completion, one turn
// after the other.
//
// Others reach a worker through its inbox only; what comes in is handled in order, between the
// callbacks of a turn. The worker calls EndTurn of its handler before it may sleep, so it is
// quiescent whenever it waits.
//
// Leaving (threads are reduced): settled connections go to other workers, the rest (in the middle
// of a request, or with output not yet sent) moves to one of them together with the WorkerHandler,
// which lives on there until the last of these connections is settled. So a worker leaves within a
// turn, whatever its clients do, and no client notices.
//
// Threads: the public functions may be called from any thread; everything private runs on the
// worker's own. Ownership: connections belong to the worker; handler, settings and exchange are the
// pool's.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <thread>
#include <variant>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/output_buffer.h"
#include "server/net/connection.h"
#include "server/net/datagram_socket.h"
#include "server/net/event_loop.h"
#include "server/net/lingering_closes.h"
#include "server/net/request_handler.h"
#include "server/net/worker_settings.h"
#include "server/net/worker_stats.h"

namespace podcache::net {

// Connections that need the handler their half-done state belongs to (so they are destroyed before
// it).
struct HandlerGroup {
  std::unique_ptr<WorkerHandler> handler;
  std::vector<std::unique_ptr<Connection>> connections;
};

// What a leaving worker gives away.
struct Departure {
  std::vector<std::unique_ptr<Connection>> settled;
  std::vector<HandlerGroup> groups;
  // Of connections that are closed already, see lingering_closes.h.
  std::vector<std::unique_ptr<Transport>> lingering;
};

// The worker's view of its pool.
class ConnectionExchange {
 public:
  // Gives a settled connection to the worker with the least load, if that has less than `below`
  // connections; otherwise hands it back.
  virtual std::unique_ptr<Connection> PassOn(std::unique_ptr<Connection> connection,
                                             std::uint64_t below) = 0;
  virtual void Disperse(Departure departure) = 0;
  virtual void OnConnectionClosed() noexcept = 0;
  virtual ConnectionTable& connection_table() noexcept = 0;
  // Bytes of half-received requests that all workers keep; returns the new sum.
  virtual std::uint64_t AddTailBytes(std::int64_t delta) noexcept = 0;
  // Closed connections whose peers may still be sending.
  virtual void AddLingering(std::int64_t delta) noexcept = 0;

 protected:
  ~ConnectionExchange() = default;
};

class Worker {
 public:
  Worker(std::unique_ptr<WorkerHandler> handler, const WorkerSettings& settings, const Clock& clock,
         ConnectionExchange& exchange);
  // Stops first, if that has not been done.
  ~Worker();

  // False if the system has no thread left.
  bool Start();
  void Join();

  struct NewConnection {
    std::unique_ptr<Transport> transport;
    ConnectionInfo info;
  };
  struct Arrival {
    std::unique_ptr<Connection> connection;
  };
  struct Adoption {
    HandlerGroup group;
  };
  struct Linger {
    std::unique_ptr<Transport> transport;
  };
  // Passes connections on until this many are left or nobody has fewer.
  struct ShareOut {
    std::uint64_t keep;
  };
  // Also answers what comes to these UDP sockets, which it shares with the others.
  struct ServeDatagrams {
    std::vector<DatagramPort*> ports;
  };
  struct Leave {};  // Gives everything away and ends.
  struct Drain {};  // Answers what has come, then closes every connection as it becomes idle.
  struct Stop {};   // Closes everything and ends.
  using Message = std::variant<NewConnection, Arrival, Adoption, Linger, ShareOut, ServeDatagrams,
                               Leave, Drain, Stop>;

  // Counts the connections inside as this worker's from now on.
  void Post(Message message);

  std::uint64_t connections() const noexcept { return stats_.connections.load(); }
  const WorkerStats& stats() const noexcept { return stats_; }
  // Not after Leave was posted.
  std::uint64_t commands() const noexcept { return own_handler_->commands(); }

 private:
  // A connection in its place here: what libevent and the lists of this worker know it by.
  struct Seat {
    Seat(Worker& owner, std::unique_ptr<Connection> guest)
        : worker(owner), connection(std::move(guest)) {}
    Worker& worker;
    std::unique_ptr<Connection> connection;
    Watch readable;
    Watch writable;
    // Neighbours in the order of activity: the least recently active is first.
    Seat* previous = nullptr;
    Seat* next = nullptr;
    std::chrono::nanoseconds last_active{0};
    std::size_t charged_bytes = 0;
    std::size_t tail_bytes = 0;
    std::size_t output_bytes = 0;
    // Calls for which it waits in line with others of its kind, because it has moved much lately.
    std::uint8_t greed = 0;
    bool queued = false;
    bool streaming = false;
    bool counted_throttled = false;
  };
  struct DatagramSeat {
    DatagramSeat(Worker& owner, DatagramPort& port) : worker(owner), socket(port) {}
    Worker& worker;
    DatagramSocket socket;
    Watch readable;
    Watch writable;
    std::size_t charged_bytes = 0;
  };
  struct Adopted {
    std::unique_ptr<WorkerHandler> handler;
    std::size_t connections = 0;
  };

  // What a connection is called for.
  using Call = void (Connection::*)(TurnResources& turn);

  void Run();
  void BeginTurn();
  void EndTurn();
  void ServeStreams();

  // worker_fairness.cc
  void ServeQueue();
  bool MayServe(Seat& seat);
  void Enqueue(Seat& seat);
  static Call DueCall(const Connection& connection) noexcept;
  void Serve(Seat& seat, Call call);
  void UpdateGreed(Seat& seat) noexcept;
  bool IsGreedy(const Seat& seat) const noexcept;

  void OnInbox();
  void Handle(NewConnection& message);
  void Handle(Arrival& message);
  void Handle(Adoption& message);
  void Handle(Linger& message);
  void Handle(ShareOut& message);
  void Handle(ServeDatagrams& message);
  void Handle(Leave& message);
  void Handle(Drain& message);
  void Handle(Stop& message);

  void Admit(std::unique_ptr<Connection> connection);
  // Brings watches, queue and accounts in line with the connection after it was called. May destroy
  // the seat.
  void Review(Seat& seat);
  void UpdateWatches(Seat& seat);
  void UpdateAccounts(Seat& seat);
  // Gives a settled connection that came with its old worker's handler to this worker's own.
  void Rehome(Seat& seat);
  // Takes a seat apart; its connection is the caller's.
  std::unique_ptr<Connection> Vacate(Seat& seat);
  // As the connection itself says why, or with a reason of the worker's own.
  void Close(Seat& seat);
  void Close(Seat& seat, CloseReason reason);
  void StartLingering(std::unique_ptr<Transport> transport);
  void ReportLingering() noexcept;
  void UpdateStreaming(Seat& seat);
  void StopStreaming(Seat& seat);
  bool TryPassOn(Seat& seat);
  void ReleaseAdopted(WorkerHandler& handler);
  void KickIdle();

  // worker_datagrams.cc
  void Review(DatagramSeat& seat);
  void LeaveDatagrams();

  // It has sent or taken bytes now; the list of seats is in the order of that.
  void NoteActivity(Seat& seat);
  void LinkLast(Seat& seat);
  void Unlink(Seat& seat);
  void Charge(std::int64_t delta_bytes) { uncharged_bytes_ += delta_bytes; }
  void SettleCharges(std::int64_t threshold_bytes);
  TurnResources Resources();

  // As last activity is told to others.
  static std::uint32_t Seconds(std::chrono::nanoseconds time) noexcept;
  static void OnReadable(void* seat);
  static void OnWritable(void* seat);
  void OnReady(Seat& seat, Call call);

  const WorkerSettings& settings_;
  const Clock& clock_;
  ConnectionExchange& exchange_;
  std::unique_ptr<WorkerHandler> own_handler_;  // Empty once it has left with a Departure.
  WorkerStats stats_;

  Mutex inbox_mutex_;
  std::vector<Message> inbox_ GUARDED_BY(inbox_mutex_);
  WakeUp wake_up_;
  std::thread thread_;

  std::unique_ptr<EventLoop> loop_;
  Watch idle_timer_;
  Watch stream_timer_;
  LingeringCloses lingering_;
  std::unique_ptr<char[]> receive_buffer_;
  OutputBuffer reply_;
  Seat* first_ = nullptr;
  Seat* last_ = nullptr;
  // Who waits for the next round, and for this one.
  std::vector<Seat*> waiting_;
  std::vector<Seat*> in_round_;
  // In this turn: calls of greedy connections, and what all have moved.
  int slices_ = 0;
  std::size_t turn_bytes_ = 0;
  std::vector<Seat*> streaming_;
  std::vector<Adopted> adopted_;
  std::vector<std::unique_ptr<DatagramSeat>> datagrams_;
  std::chrono::nanoseconds turn_start_{0};
  bool in_turn_ = false;
  bool draining_ = false;
  bool ended_ = false;
  // While sharing out: connections to keep.
  bool sharing_out_ = false;
  std::uint64_t keep_ = 0;
  std::int64_t uncharged_bytes_ = 0;
  std::size_t charged_buffer_bytes_ = 0;
  std::size_t reported_lingering_ = 0;
};

}  // namespace podcache::net
