// One client connection: what was received but not consumed, what was answered but not sent, and
// the steps of a turn in between. Waits for nothing itself; its worker calls it when the socket is
// ready.
//
// A turn: one receive into the worker's buffer (a large value straight into item memory), the
// handler consumes what it can, one send of all replies, of large ones a part. Only leftovers
// belong to the connection: an idle one holds no buffer at all.
//
// Threads: one worker at a time. Between turns it may be given to another worker: alone when
// Settled(), else together with the WorkerHandler its half-done state belongs to.
//
// States: open → closing (the handler wants it closed, or the peer has ended its side: what is
// answered is still sent) → closed. A socket error closes at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/net/connection_table.h"
#include "server/net/input_tail.h"
#include "server/net/request_handler.h"
#include "server/net/transport.h"

namespace podcache::net {

// Unsent output above `high_bytes` stops reading, below `low_bytes` it goes on.
struct Watermarks {
  std::size_t high_bytes = 1U << 20;
  std::size_t low_bytes = 256U << 10;
};

// What a connection borrows from its worker for one turn.
struct TurnResources {
  std::span<char> receive_buffer;
  OutputBuffer& reply;  // Empty before and after each call.
  Watermarks watermarks;
  // What all workers together may keep of half-received requests is used up: who needs more is told
  // with the text, and closed.
  bool tails_full = false;
  std::string_view tails_full_text = {};
};

class Connection {
 public:
  // `worker` outlives the connection or is replaced before it goes.
  Connection(std::unique_ptr<Transport> transport, std::unique_ptr<ConnectionHandler> handler,
             WorkerHandler& worker, const ConnectionInfo& info = {},
             ConnectionTable* table = nullptr);

  void OnReadable(TurnResources& turn);
  void OnWritable(TurnResources& turn);
  // Goes on with input that was left by a used-up budget.
  void Resume(TurnResources& turn);
  // The next part of a stream. Only while streaming().
  void OnStreamTick(TurnResources& turn);
  // Nobody can wait for its socket.
  void Abort() noexcept { closed_ = failed_ = true; }
  // For a connection that goes: a transport whose peer may still be sending, or has sent what
  // nobody will read, so that it must not be closed yet. Null for all others.
  std::unique_ptr<Transport> TakeLingering() noexcept;

  bool closed() const noexcept { return closed_; }
  CloseReason close_reason() const noexcept { return close_reason_; }
  // The handler wants OnStreamTick.
  bool streaming() const noexcept { return streaming_ && !closing_ && !peer_ended_; }
  // Half a request was refused for lack of memory.
  bool refused_tail() const noexcept { return refused_tail_; }
  bool wants_read() const noexcept { return !closed_ && !closing_ && !peer_ended_ && !throttled(); }
  bool wants_write() const noexcept { return !closed_ && !output_.empty(); }
  // Resume is to be called in the next turn.
  bool runnable() const noexcept { return !closed_ && yielded_ && output_.empty(); }
  // Neither read from nor executed until the peer has taken more of its replies. A budget used up
  // with the socket full is enough for that: what would be executed now could not be sent.
  bool throttled() const noexcept { return throttled_ || (yielded_ && !output_.empty()); }
  // No request is half done and everything is answered: may be given to another WorkerHandler.
  bool Settled() const noexcept;
  // Settled, and not even the start of a request has come: may be closed without loss.
  bool Idle() const noexcept { return Settled() && !yielded_ && tail_.empty(); }

  int descriptor() const noexcept { return transport_->descriptor(); }
  WorkerHandler& worker() const noexcept { return *worker_; }
  void set_worker(WorkerHandler& worker) noexcept { worker_ = &worker; }
  ConnectionInfo info() const noexcept { return {entry_.id(), entry_.peer()}; }
  void SetLastActive(std::uint32_t seconds) noexcept { entry_.SetLastActive(seconds); }
  // Memory of this connection, without its handler's own.
  std::size_t footprint_bytes() const noexcept;
  std::size_t tail_bytes() const noexcept { return tail_.capacity_bytes(); }
  std::size_t output_bytes() const noexcept { return output_.pending_bytes(); }
  // Received and sent by the last call.
  std::size_t moved_bytes() const noexcept { return moved_bytes_; }

 private:
  OutputBuffer& Output(TurnResources& turn) noexcept {
    return output_.empty() ? turn.reply : output_;
  }
  void Consume(std::span<const char> input, TurnResources& turn);
  void Take(const HandlerResult& result) noexcept;
  void KeepTail(std::span<const char> input, TurnResources& turn);
  // Around everything that may run requests.
  void Begin() noexcept;
  void End() noexcept;
  void Flush(TurnResources& turn);
  void CountMoved(std::size_t received, std::size_t sent) noexcept;
  IoStatus SendFrom(OutputBuffer& output);
  void UpdateThrottle(const TurnResources& turn) noexcept;

  std::unique_ptr<Transport> transport_;
  ConnectionEntry entry_;  // Gone before the descriptor is closed.
  std::unique_ptr<ConnectionHandler> handler_;
  WorkerHandler* worker_;
  InputTail tail_;
  OutputBuffer output_;
  std::span<char> direct_;
  std::size_t moved_bytes_ = 0;
  bool yielded_ = false;
  bool throttled_ = false;
  bool peer_ended_ = false;
  bool closing_ = false;
  bool closed_ = false;
  bool failed_ = false;  // Nothing more will come or go.
  bool streaming_ = false;
  bool refused_tail_ = false;
  CloseReason close_reason_ = CloseReason::kError;
};

}  // namespace podcache::net
