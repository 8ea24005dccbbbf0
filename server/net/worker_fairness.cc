// Who has to wait for whom, of Worker: connections that move much take turns, a few of them in each
// turn of the loop, and those that ask for little are served as they come. Who is seen to move much
// for the first time may be one of many, so a turn that has moved a lot ends: whoever is ready then
// comes before the greedy ones in the next.
#include "server/net/worker.h"

namespace podcache::net {

namespace {

// Calls of greedy connections in a turn of the loop: a megabyte or so, well below a millisecond.
constexpr int kSlicesPerTurn = 2;
// What one call moves for a connection to count as greedy, and for how many calls it does: the last
// part of a large reply may be small, but who asks for little then is not to wait for long.
constexpr std::size_t kGreedyBytes = 64U << 10;
constexpr std::uint8_t kGreedyCalls = 2;
// What a turn moves before the rest of it has to wait for the next.
constexpr std::size_t kMaxTurnBytes = 1U << 20;

}  // namespace

void Worker::ServeQueue() {
  // Who comes back waits until all the others have been served.
  if (in_round_.empty()) in_round_.swap(waiting_);
  if (in_round_.empty()) return;
  BeginTurn();
  while (!in_round_.empty()) {
    Seat& seat = *in_round_.back();
    if (IsGreedy(seat) && ++slices_ > kSlicesPerTurn) return;
    in_round_.pop_back();
    seat.queued = false;
    Serve(seat, DueCall(*seat.connection));
  }
}

bool Worker::IsGreedy(const Seat& seat) const noexcept {
  return seat.greed > 0 || turn_bytes_ >= kMaxTurnBytes;
}

bool Worker::MayServe(Seat& seat) {
  if (!IsGreedy(seat)) return true;
  // No detour as long as nobody waits.
  if (seat.greed > 0 && waiting_.empty() && in_round_.empty() && slices_ < kSlicesPerTurn) {
    ++slices_;
    return true;
  }
  if (seat.greed > 0) {
    Enqueue(seat);
  } else {
    seat.queued = true;
    in_round_.push_back(&seat);  // Its end comes first.
  }
  UpdateWatches(seat);
  return false;
}

void Worker::Enqueue(Seat& seat) {
  if (seat.queued) return;
  seat.queued = true;
  waiting_.push_back(&seat);
}

// Who waited may have several things to do: what is here comes before what would be added to it.
Worker::Call Worker::DueCall(const Connection& connection) noexcept {
  if (connection.runnable()) return &Connection::Resume;
  return connection.wants_write() ? &Connection::OnWritable : &Connection::OnReadable;
}

void Worker::Serve(Seat& seat, Call call) {
  TurnResources turn = Resources();
  (seat.connection.get()->*call)(turn);
  UpdateGreed(seat);
  Review(seat);
}

void Worker::UpdateGreed(Seat& seat) noexcept {
  const std::size_t moved = seat.connection->moved_bytes();
  turn_bytes_ += moved;
  // Who has used up its budget of requests has more of them.
  if (moved >= kGreedyBytes || seat.connection->runnable()) {
    seat.greed = kGreedyCalls;
  } else if (seat.greed > 0) {
    --seat.greed;
  }
}

}  // namespace podcache::net
