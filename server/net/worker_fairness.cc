// Who has to wait for whom, of Worker: connections that move much take turns, a few of them in each
// turn of the loop, and those that ask for little are served as they come.
#include "server/net/worker.h"

namespace podcache::net {

namespace {

// Calls of greedy connections in a turn of the loop: a megabyte or so, well below a millisecond.
constexpr int kSlicesPerTurn = 2;
// What one call moves for a connection to count as greedy, and for how many calls it does: the last
// part of a large reply may be small, but who asks for little then is not to wait for long.
constexpr std::size_t kGreedyBytes = 64U << 10;
constexpr std::uint8_t kGreedyCalls = 2;

}  // namespace

void Worker::ServeQueue() {
  // Who comes back waits until all the others have been served.
  if (in_round_.empty()) in_round_.swap(waiting_);
  if (in_round_.empty()) return;
  BeginTurn();
  for (; slices_ < kSlicesPerTurn && !in_round_.empty(); ++slices_) {
    Seat& seat = *in_round_.back();
    in_round_.pop_back();
    seat.queued = false;
    Serve(seat);
  }
}

bool Worker::MayServe(Seat& seat) {
  if (seat.greed == 0) return true;
  // No detour as long as nobody waits.
  if (waiting_.empty() && in_round_.empty() && slices_ < kSlicesPerTurn) {
    ++slices_;
    return true;
  }
  Enqueue(seat);
  UpdateWatches(seat);
  return false;
}

void Worker::Enqueue(Seat& seat) {
  if (seat.queued) return;
  seat.queued = true;
  waiting_.push_back(&seat);
}

void Worker::Serve(Seat& seat) {
  TurnResources turn = Resources();
  Connection& connection = *seat.connection;
  if (connection.runnable()) {
    connection.Resume(turn);
  } else if (connection.wants_write()) {
    connection.OnWritable(turn);
  } else {
    connection.OnReadable(turn);
  }
  UpdateGreed(seat);
  Review(seat);
}

void Worker::UpdateGreed(Seat& seat) noexcept {
  if (seat.connection->moved_bytes() >= kGreedyBytes) {
    seat.greed = kGreedyCalls;
  } else if (seat.greed > 0) {
    --seat.greed;
  }
}

}  // namespace podcache::net
