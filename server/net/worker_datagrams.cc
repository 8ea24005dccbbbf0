// A worker's part in the UDP sockets, which all workers share.
#include <utility>

#include "server/net/worker.h"

namespace podcache::net {

void Worker::Handle(ServeDatagrams& message) {
  if (draining_ || ended_) return;
  for (DatagramPort* const port : message.ports) {
    datagrams_.push_back(std::make_unique<DatagramSeat>(*this, *port));
    Review(*datagrams_.back());
  }
}

void Worker::Review(DatagramSeat& seat) {
  // While a reply waits for room nothing further is taken.
  const bool sends = seat.socket.wants_write();
  if (sends) {
    seat.readable.Stop();
  } else {
    seat.writable.Stop();
  }
  Watch& wanted = sends ? seat.writable : seat.readable;
  if (!wanted.active()) {
    const auto on_readable = [](void* context) {
      DatagramSeat& ready = *static_cast<DatagramSeat*>(context);
      ready.worker.BeginTurn();
      TurnResources turn = ready.worker.Resources();
      ready.socket.port().last_active_seconds.store(Seconds(ready.worker.turn_start_),
                                                    std::memory_order_relaxed);
      ready.socket.OnReadable(*ready.worker.own_handler_, turn);
      ready.worker.Review(ready);
    };
    const auto on_writable = [](void* context) {
      DatagramSeat& ready = *static_cast<DatagramSeat*>(context);
      ready.worker.BeginTurn();
      ready.socket.OnWritable(*ready.worker.own_handler_);
      ready.worker.Review(ready);
    };
    if (sends) {
      wanted.StartWritable(*loop_, seat.socket.descriptor(), on_writable, &seat);
    } else {
      wanted.StartReadable(*loop_, seat.socket.descriptor(), on_readable, &seat);
    }
  }
  const std::size_t bytes = seat.socket.footprint_bytes();
  Charge(static_cast<std::int64_t>(bytes) -
         static_cast<std::int64_t>(std::exchange(seat.charged_bytes, bytes)));
}

void Worker::LeaveDatagrams() {
  for (const auto& seat : datagrams_) Charge(-static_cast<std::int64_t>(seat->charged_bytes));
  datagrams_.clear();
}

}  // namespace podcache::net
