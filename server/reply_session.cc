#include "server/reply_session.h"

#include "common/base/check.h"
#include "server/negotiating_session.h"
#include "server/session_turn.h"

namespace podcache {

namespace {

// Steps that write little: a walk over many items that are not shown.
constexpr int kMaxStepsPerTurn = 64;

}  // namespace

net::HandlerResult ReplySession::OnInput(net::WorkerHandler&, std::span<const char>,
                                         OutputBuffer& output) {
  int steps = 0;
  do {
    if (!reply_->Continue(output)) return {0, net::NextStep::kReplace, {}};
  } while (++steps < kMaxStepsPerTurn && output.pending_bytes() <= kMaxReplyBytesPerTurn);
  return {0, net::NextStep::kYield, {}};
}

net::HandlerResult ReplySession::OnDirect(net::WorkerHandler&, std::size_t, OutputBuffer&) {
  PODCACHE_CHECK(false);  // Never asked for.
  return {0, net::NextStep::kClose, {}};
}

std::unique_ptr<net::ConnectionHandler> ReplySession::TakeSuccessor() {
  return NewSession(protocol_);
}

}  // namespace podcache
