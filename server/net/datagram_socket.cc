#include "server/net/datagram_socket.h"

#include <sys/uio.h>

#include <cerrno>
#include <span>

#include "common/base/big_endian.h"

namespace podcache::net {

namespace {

constexpr std::size_t kPayloadBytes = kMaxDatagramBytes - kDatagramFrameBytes;
static_assert((kMaxDatagramReplyBytes + kPayloadBytes - 1) / kPayloadBytes <= 0xffff,
              "the count of a reply has 16 bits");
// Requests taken in one turn, so that connections get theirs.
constexpr int kRequestsPerTurn = 64;
constexpr int kMaxPieces = 16;

// Cuts the pieces to so many bytes in all; returns how many bytes they have.
std::size_t Trim(iovec* pieces, int& count, std::size_t limit) noexcept {
  std::size_t bytes = 0;
  for (int i = 0; i < count; ++i) {
    if (pieces[i].iov_len >= limit - bytes) {
      pieces[i].iov_len = limit - bytes;
      count = i + 1;
      return limit;
    }
    bytes += pieces[i].iov_len;
  }
  return bytes;
}

}  // namespace

void DatagramSocket::OnReadable(WorkerHandler& handler, TurnResources& turn) {
  for (int i = 0; i < kRequestsPerTurn && pending_.empty(); ++i) {
    if (!ServeOne(handler, turn)) return;
  }
}

bool DatagramSocket::ServeOne(WorkerHandler& handler, TurnResources& turn) {
  Reply reply;
  reply.peer_length = sizeof reply.peer;
  const std::span<char> buffer = turn.receive_buffer;
  const ssize_t received = ::recvfrom(descriptor(), buffer.data(), buffer.size(), MSG_TRUNC,
                                      reinterpret_cast<sockaddr*>(&reply.peer), &reply.peer_length);
  // An error other than "nothing there" is one of an earlier reply: the next datagram may be fine.
  if (received < 0) return errno != EAGAIN && errno != EWOULDBLOCK && errno != ENOMEM;
  const auto size = static_cast<std::size_t>(received);
  if (size <= kDatagramFrameBytes || size > buffer.size()) return true;
  handler.CountBytes(size, 0);
  reply.request_id = LoadBigEndian<std::uint16_t>(buffer.data());
  // One of several. A sequence number is not looked at, as in memcached.
  if (LoadBigEndian<std::uint16_t>(buffer.data() + 4) != 1) return true;
  handler.set_active_connection(0);
  handler.OnDatagram(port_.socket.tag,
                     buffer.subspan(kDatagramFrameBytes, size - kDatagramFrameBytes),
                     kMaxDatagramReplyBytes, turn.reply);
  reply.count =
      static_cast<std::uint16_t>((turn.reply.pending_bytes() + kPayloadBytes - 1) / kPayloadBytes);
  if (!Send(reply, turn.reply, handler)) {
    pending_ = turn.reply.TakeTail();
    reply_ = reply;
  }
  return true;
}

void DatagramSocket::OnWritable(WorkerHandler& handler) {
  if (!pending_.empty() && Send(reply_, pending_, handler)) pending_ = OutputBuffer();
}

bool DatagramSocket::Send(Reply& reply, OutputBuffer& output, WorkerHandler& handler) noexcept {
  while (!output.empty()) {
    char frame[kDatagramFrameBytes];
    char* at = StoreBigEndian(frame, reply.request_id);
    at = StoreBigEndian(at, reply.sequence);
    at = StoreBigEndian(at, reply.count);
    StoreBigEndian(at, std::uint16_t{0});
    iovec pieces[1 + kMaxPieces];
    pieces[0] = {frame, sizeof frame};
    int count = output.FillIovec(pieces + 1, kMaxPieces);
    const std::size_t payload = Trim(pieces + 1, count, kPayloadBytes);
    msghdr message{};
    message.msg_name = &reply.peer;
    message.msg_namelen = reply.peer_length;
    message.msg_iov = pieces;
    message.msg_iovlen = static_cast<std::size_t>(1 + count);
    if (::sendmsg(descriptor(), &message, MSG_NOSIGNAL) < 0) {
      if (errno == EINTR) continue;
      if (errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) return false;
      output.Clear();  // This peer cannot be reached.
      return true;
    }
    handler.CountBytes(0, payload + sizeof frame);
    output.Consume(payload);
    ++reply.sequence;
  }
  return true;
}

}  // namespace podcache::net
