// One worker's use of a UDP socket that all workers share: requests in, replies out, nothing kept
// in between.
//
// A datagram starts with a frame of 8 bytes: request id, sequence number, number of datagrams,
// zero; each 16 bits, big-endian. A request is one datagram; its reply has the same id and is cut
// into datagrams of at most kMaxDatagramBytes. A datagram that is no such thing is passed over in
// silence: whoever forges senders must get nothing out of it.
//
// While a reply waits for room in the socket's buffer no further request is taken: what the
// kernel's queue does not hold is lost, as UDP allows.
//
// Threads: one worker. The kernel gives each datagram to one of those that wait. Ownership: the
// port is the pool's. Source: protocol.md 5.
#pragma once

#include <sys/socket.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "common/base/output_buffer.h"
#include "server/net/connection.h"
#include "server/net/listen_socket.h"
#include "server/net/request_handler.h"

namespace podcache::net {

inline constexpr std::size_t kDatagramFrameBytes = 8;
// Fits what an Ethernet carries, so that no datagram is cut again on its way.
inline constexpr std::size_t kMaxDatagramBytes = 1400;
// Of one reply: the largest item of the default -I, and a little for what stands around it. What
// this server sends for one forged request must stay bounded.
inline constexpr std::size_t kMaxDatagramReplyBytes = (1U << 20) + 4096;

// What the workers share.
struct DatagramPort {
  DatagramPort(ListenSocket bound, std::uint64_t its_id) : socket(std::move(bound)), id(its_id) {}

  const ListenSocket socket;
  const std::uint64_t id;                             // Among connections and listening sockets.
  std::atomic<std::uint32_t> last_active_seconds{0};  // Monotonic.
};

class DatagramSocket {
 public:
  explicit DatagramSocket(DatagramPort& port) noexcept : port_(port) {}

  void OnReadable(WorkerHandler& handler, TurnResources& turn);
  void OnWritable(WorkerHandler& handler);

  DatagramPort& port() const noexcept { return port_; }
  int descriptor() const noexcept { return port_.socket.fd.get(); }
  bool wants_write() const noexcept { return !pending_.empty(); }
  std::size_t footprint_bytes() const noexcept { return pending_.capacity_bytes(); }

 private:
  struct Reply {
    sockaddr_storage peer{};
    socklen_t peer_length = 0;
    std::uint16_t request_id = 0;
    std::uint16_t sequence = 0;
    std::uint16_t count = 0;
  };

  // False when nothing has come.
  bool ServeOne(WorkerHandler& handler, TurnResources& turn);
  // Sends what the socket takes; false if it is full. A reply that cannot be sent at all is
  // dropped.
  bool Send(Reply& reply, OutputBuffer& output, WorkerHandler& handler) noexcept;

  DatagramPort& port_;
  // Of a reply that waits.
  Reply reply_;
  OutputBuffer pending_;
};

}  // namespace podcache::net
