// The seam between sockets and protocols: `net` moves bytes and knows no protocol, the composition
// root supplies what stands behind this interface.
//
// Threads: a WorkerHandler is used by one thread at a time. When its worker is removed while
// connections are in the middle of a request, it moves with them to another worker's thread and
// lives on there until the last of them is through; so whatever a half-done request holds (a write
// handle, a pinned value) never outlives or leaves the WorkerHandler it came from. A
// ConnectionHandler belongs to one connection; it is given to another WorkerHandler only when
// AtRequestBoundary() is true and all its output is sent.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "common/base/output_buffer.h"
#include "server/net/connection_table.h"
#include "server/net/peer_address.h"

namespace podcache::net {

class WorkerHandler;

enum class NextStep : std::uint8_t {
  kNeedInput,  // Everything useful was consumed; call again when there is more.
  kYield,   // A budget was used up: call again with what is left of the input (may be nothing) in a
            // later turn.
  kDirect,  // Fill `direct` straight from the socket, then call OnDirect.
  kClose,   // Send what is in the output, then close.
  kAbort,   // The same, because the input made no sense.
  kReplace,  // TakeSuccessor() handles the connection from here on, beginning with what is left of
             // the input.
  kStream,   // As kNeedInput; and from now on OnInput is called without input again and again, a
             // few milliseconds apart, also while earlier output waits for the socket.
};

struct HandlerResult {
  std::size_t consumed = 0;  // Bytes of the input that must not be shown again.
  NextStep next = NextStep::kNeedInput;
  std::span<char> direct;  // For kDirect: room inside an item.
};

// Of one connection, between two calls: a request line in the making, not a value.
inline constexpr std::size_t kMaxUnconsumedBytes = std::size_t{20} * 1024;

class ConnectionHandler {
 public:
  virtual ~ConnectionHandler() = default;
  // `input` is everything received and not yet consumed. Replies are appended to `output` in
  // request order. Must return kYield when output.pending_bytes() exceeds its budget with input
  // left. What it leaves unconsumed with kNeedInput must stay below kMaxUnconsumedBytes, else the
  // connection is closed.
  virtual HandlerResult OnInput(WorkerHandler& worker, std::span<const char> input,
                                OutputBuffer& output) = 0;
  // `n` bytes of the last `direct` were filled.
  virtual HandlerResult OnDirect(WorkerHandler& worker, std::size_t n, OutputBuffer& output) = 0;
  // True when no request is half done: the connection may move to another worker or be closed
  // without loss.
  virtual bool AtRequestBoundary() const noexcept = 0;
  // What it is waiting for between two calls.
  virtual Activity activity() const noexcept { return Activity::kWaiting; }
  // After kReplace, once.
  virtual std::unique_ptr<ConnectionHandler> TakeSuccessor() { return nullptr; }
};

enum class CloseReason : std::uint8_t {
  kError,   // The socket failed, or the input made no sense.
  kNormal,  // Either side has ended it in order.
  kIdleTimeout,
  kShutdown,
};

struct ConnectionInfo {
  std::uint64_t id = 0;  // Ascends in the order of admission.
  PeerAddress peer;
  // Of the listening socket; what it means is the handler's affair. For NewConnection only.
  std::uint8_t socket_tag = 0;
};

// One per worker thread: holds what all its connections share (the store session, the counters).
class WorkerHandler {
 public:
  virtual ~WorkerHandler() = default;
  virtual std::unique_ptr<ConnectionHandler> NewConnection(const ConnectionInfo& info) = 0;
  // One datagram's requests, all of them. The whole reply is appended to `output`, which is empty
  // before: at most `max_reply_bytes`, nothing if there is no reply. Nothing is kept.
  virtual void OnDatagram(std::uint8_t socket_tag, std::span<const char> requests,
                          std::size_t max_reply_bytes, OutputBuffer& output) = 0;
  // The end of a connection, before its handler goes.
  virtual void ConnectionClosed(const ConnectionInfo&, CloseReason) noexcept {}
  // Called once at the end of each event-loop turn, before the worker may sleep.
  virtual void EndTurn() noexcept = 0;
  // For `net`'s own counts: bytes received, sent; yields; hand-offs.
  virtual void CountBytes(std::uint64_t received, std::uint64_t sent) noexcept = 0;
  virtual void CountYield() noexcept = 0;
  virtual void CountHandoff() noexcept = 0;
  // Requests executed by this worker since it was made. The one function any thread may call.
  virtual std::uint64_t commands() const noexcept = 0;

  // Whose input is being handled: set by `net` around the calls of a ConnectionHandler.
  std::uint64_t active_connection() const noexcept { return active_connection_; }
  void set_active_connection(std::uint64_t id) noexcept { active_connection_ = id; }

 private:
  std::uint64_t active_connection_ = 0;
};

// Makes the handler of a new worker; called on the thread that starts it.
class RequestHandlerFactory {
 public:
  virtual ~RequestHandlerFactory() = default;
  virtual std::unique_ptr<WorkerHandler> NewWorker() = 0;
};

}  // namespace podcache::net
