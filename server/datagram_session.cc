#include "server/datagram_session.h"

#include <memory>

#include "server/negotiating_session.h"
#include "server/protocol/binary_parser.h"
#include "server/protocol/encoders.h"

namespace podcache {

namespace {

// Turns that take no more of the requests: those of a long reply. A datagram is answered at once,
// so it gets no walk over millions of items.
constexpr int kMaxReplyTurns = 16;

void AppendTooLarge(WireProtocol protocol, std::span<const char> requests, OutputBuffer& output) {
  if (protocol == WireProtocol::kText) {
    return protocol::AppendReply(protocol::Reply::kTooLargeForDatagram, output);
  }
  protocol::BinaryRequest request;
  protocol::BinaryParser::Parse({requests.data(), requests.size()}, request);
  protocol::AppendBinaryError(request.head, protocol::BinaryStatus::kTooLarge, output);
}

}  // namespace

void AnswerDatagram(net::WorkerHandler& worker, WireProtocol protocol,
                    std::span<const char> requests, std::size_t max_reply_bytes,
                    OutputBuffer& output) {
  if (requests.empty()) return;
  if (protocol == WireProtocol::kNegotiating) protocol = ProtocolOf(requests.front());
  std::unique_ptr<net::ConnectionHandler> session = NewSession(protocol);
  std::span<const char> rest = requests;
  int reply_turns = 0;
  while (reply_turns < kMaxReplyTurns && output.pending_bytes() <= max_reply_bytes) {
    const net::HandlerResult result = session->OnInput(worker, rest, output);
    rest = rest.subspan(result.consumed);
    if (result.consumed == 0) ++reply_turns;
    switch (result.next) {
      case net::NextStep::kYield:
        break;
      case net::NextStep::kReplace:
        session = session->TakeSuccessor();
        break;
      case net::NextStep::kStream:
        return output.Clear();
      default:
        if (output.pending_bytes() <= max_reply_bytes) return;
        break;
    }
  }
  output.Clear();
  AppendTooLarge(protocol, requests, output);
}

}  // namespace podcache
