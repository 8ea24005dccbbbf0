#include "server/negotiating_session.h"

#include "server/binary_session.h"
#include "server/protocol/binary_request.h"
#include "server/text_session.h"

namespace podcache {

using net::HandlerResult;
using net::NextStep;

std::unique_ptr<net::ConnectionHandler> NewSession(WireProtocol protocol) {
  switch (protocol) {
    case WireProtocol::kText:
      return std::make_unique<TextSession>();
    case WireProtocol::kBinary:
      return std::make_unique<BinarySession>();
    case WireProtocol::kNegotiating:
      break;
  }
  return std::make_unique<NegotiatingSession>();
}

WireProtocol ProtocolOf(char first_byte) noexcept {
  return static_cast<unsigned char>(first_byte) == protocol::kBinaryRequestMagic
             ? WireProtocol::kBinary
             : WireProtocol::kText;
}

HandlerResult NegotiatingSession::OnInput(net::WorkerHandler&, std::span<const char> input,
                                          OutputBuffer&) {
  if (input.empty()) return {0, NextStep::kNeedInput, {}};
  chosen_ = ProtocolOf(input.front());
  return {0, NextStep::kReplace, {}};
}

HandlerResult NegotiatingSession::OnDirect(net::WorkerHandler&, std::size_t, OutputBuffer&) {
  return {0, NextStep::kAbort, {}};  // Nothing was asked for.
}

std::unique_ptr<net::ConnectionHandler> NegotiatingSession::TakeSuccessor() {
  return NewSession(chosen_);
}

}  // namespace podcache
