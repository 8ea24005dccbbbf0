#include "server/net/connection.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace podcache::net {

namespace {
// Pieces of one send; more leave with the next.
constexpr int kMaxPieces = 64;
// Of a large value in one turn, so that one upload does not keep the others waiting.
constexpr std::size_t kMaxDirectBytes = 256U << 10;
// Sent in one turn, so that one large reply doesn't either.
constexpr std::size_t kMaxSentBytes = 512U << 10;
}  // namespace

Connection::Connection(std::unique_ptr<Transport> transport,
                       std::unique_ptr<ConnectionHandler> handler, WorkerHandler& worker,
                       const ConnectionInfo& info, ConnectionTable* table)
    : transport_(std::move(transport)), handler_(std::move(handler)), worker_(&worker) {
  if (table != nullptr) entry_.Enter(*table, info.id, info.peer, transport_->descriptor());
}

void Connection::Begin() noexcept {
  worker_->set_active_connection(entry_.id());
  entry_.SetActivity(Activity::kRunning);
}

void Connection::End() noexcept {
  Activity activity = Activity::kClosing;
  if (!closing_ && !closed_) {
    activity = streaming_         ? Activity::kWatching
               : !output_.empty() ? Activity::kSending
                                  : handler_->activity();
  }
  entry_.SetActivity(activity);
}

bool Connection::Settled() const noexcept {
  return !closed_ && direct_.empty() && output_.empty() && handler_->AtRequestBoundary();
}

std::size_t Connection::footprint_bytes() const noexcept {
  return sizeof(*this) + tail_.capacity_bytes() + output_.capacity_bytes();
}

void Connection::OnReadable(TurnResources& turn) {
  moved_bytes_ = 0;
  // Input that is already here comes first: what is kept stays bounded.
  if (!wants_read() || yielded_) return;
  const std::span<char> buffer = turn.receive_buffer;
  iovec pieces[2];
  int count = 0;
  const std::size_t direct = std::min(direct_.size(), kMaxDirectBytes);
  const std::size_t kept = tail_.size();
  if (direct > 0) pieces[count++] = {direct_.data(), direct};
  if (direct == direct_.size()) {
    if (kept > 0) std::memcpy(buffer.data(), tail_.bytes().data(), kept);
    pieces[count++] = {buffer.data() + kept, buffer.size() - kept};
  }
  const IoResult received = transport_->Receive(pieces, count);
  switch (received.status) {
    case IoStatus::kWouldBlock:
      return;
    case IoStatus::kError:
      closed_ = failed_ = true;
      return;
    case IoStatus::kClosed:
      peer_ended_ = true;
      closed_ = output_.empty();
      close_reason_ = CloseReason::kNormal;
      return;
    case IoStatus::kOk:
      break;
  }
  Begin();
  CountMoved(received.bytes, 0);
  const std::size_t into_item = std::min(received.bytes, direct);
  if (into_item > 0) Take(handler_->OnDirect(*worker_, into_item, Output(turn)));
  Consume(buffer.first(kept + received.bytes - into_item), turn);
  Flush(turn);
  End();
}

void Connection::Resume(TurnResources& turn) {
  moved_bytes_ = 0;
  if (!runnable()) return;
  Begin();
  Consume(tail_.bytes(), turn);
  Flush(turn);
  End();
}

void Connection::OnStreamTick(TurnResources& turn) {
  if (closed_ || !streaming()) return;
  Take(handler_->OnInput(*worker_, {}, Output(turn)));
  Flush(turn);
  End();
}

void Connection::OnWritable(TurnResources& turn) {
  moved_bytes_ = 0;
  if (closed_) return;
  Flush(turn);
  End();
}

std::unique_ptr<Transport> Connection::TakeLingering() noexcept {
  if (failed_ || peer_ended_) return nullptr;
  // Whom the handler cuts off is often in the middle of sending.
  if (!closing_ && !transport_->HasUnread()) return nullptr;
  return std::move(transport_);
}

void Connection::Consume(std::span<const char> input, TurnResources& turn) {
  // Called again after a yield even without input: the handler may owe more output.
  bool more = std::exchange(yielded_, false) || !input.empty();
  while (more && !closing_ && !yielded_) {
    OutputBuffer& output = Output(turn);
    if (!direct_.empty()) {
      const std::size_t n = std::min(direct_.size(), input.size());
      if (n == 0) break;
      std::memcpy(direct_.data(), input.data(), n);
      input = input.subspan(n);
      Take(handler_->OnDirect(*worker_, n, output));
    } else {
      const HandlerResult result = handler_->OnInput(*worker_, input, output);
      input = input.subspan(result.consumed);
      Take(result);
      // A successor is called even without input: it may have something to say.
      if (result.next == NextStep::kReplace) continue;
      if (result.next == NextStep::kNeedInput || result.next == NextStep::kStream) break;
    }
    more = !input.empty();
  }
  // More kept than a request line may need: the handler has lost its way in this input.
  if (!yielded_ && input.size() > kMaxUnconsumedBytes) closing_ = true;
  KeepTail(input, turn);
}

void Connection::KeepTail(std::span<const char> input, TurnResources& turn) {
  if (!closing_ && turn.tails_full && input.size() > tail_.size()) {
    Output(turn).Append(turn.tails_full_text);
    closing_ = refused_tail_ = true;
  }
  if (closing_) return tail_.Clear();
  tail_.Assign(input);
}

void Connection::Take(const HandlerResult& result) noexcept {
  direct_ = {};
  switch (result.next) {
    case NextStep::kNeedInput:
      break;
    case NextStep::kYield:
      yielded_ = true;
      worker_->CountYield();
      break;
    case NextStep::kDirect:
      direct_ = result.direct;
      break;
    case NextStep::kClose:
      close_reason_ = CloseReason::kNormal;
      closing_ = true;
      break;
    case NextStep::kAbort:
      closing_ = true;
      break;
    case NextStep::kReplace:
      handler_ = handler_->TakeSuccessor();
      break;
    case NextStep::kStream:
      streaming_ = true;
      break;
  }
}

void Connection::Flush(TurnResources& turn) {
  OutputBuffer& output = Output(turn);
  if (!closed_ && !output.empty() && SendFrom(output) == IoStatus::kError) {
    close_reason_ = CloseReason::kError;
    closed_ = failed_ = true;
  }
  if (closed_) {
    turn.reply.Clear();
    return;
  }
  if (!turn.reply.empty()) output_ = turn.reply.TakeTail();
  if (output_.empty() && output_.capacity_bytes() > 0) output_ = OutputBuffer();
  UpdateThrottle(turn);
  if (output_.empty() && (closing_ || (peer_ended_ && !yielded_))) closed_ = true;
}

IoStatus Connection::SendFrom(OutputBuffer& output) {
  iovec pieces[kMaxPieces];
  // A full batch of pieces may be followed by more; a short send may not.
  for (std::size_t left = kMaxSentBytes; left > 0;) {
    int count = output.FillIovec(pieces, kMaxPieces);
    if (count == 0) return IoStatus::kOk;
    std::size_t offered = 0;
    for (int i = 0; i < count; ++i) {
      pieces[i].iov_len = std::min(pieces[i].iov_len, left - offered);
      offered += pieces[i].iov_len;
      if (offered == left) count = i + 1;
    }
    const IoResult sent = transport_->Send(pieces, count);
    if (sent.status != IoStatus::kOk) return sent.status;
    CountMoved(0, sent.bytes);
    output.Consume(sent.bytes);
    left -= sent.bytes;
    if (sent.bytes < offered) return IoStatus::kWouldBlock;
  }
  return IoStatus::kWouldBlock;
}

void Connection::CountMoved(std::size_t received, std::size_t sent) noexcept {
  moved_bytes_ += received + sent;
  worker_->CountBytes(received, sent);
}

void Connection::UpdateThrottle(const TurnResources& turn) noexcept {
  const std::size_t pending = output_.pending_bytes();
  if (pending > turn.watermarks.high_bytes) throttled_ = true;
  if (pending < turn.watermarks.low_bytes) throttled_ = false;
}

}  // namespace podcache::net
