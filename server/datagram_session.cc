#include "server/datagram_session.h"

#include <memory>

#include "server/negotiating_session.h"
#include "server/protocol/binary_parser.h"
#include "server/protocol/encoders.h"

namespace podcache {

namespace {

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
  const std::unique_ptr<net::ConnectionHandler> session = NewSession(protocol);
  std::span<const char> rest = requests;
  net::HandlerResult result;
  do {
    result = session->OnInput(worker, rest, output);
    rest = rest.subspan(result.consumed);
  } while (result.next == net::NextStep::kYield && output.pending_bytes() <= max_reply_bytes);
  if (output.pending_bytes() <= max_reply_bytes) return;
  output.Clear();
  AppendTooLarge(protocol, requests, output);
}

}  // namespace podcache
