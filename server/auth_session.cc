#include "server/auth_session.h"

#include "common/base/check.h"
#include "server/command/answer.h"
#include "server/protocol/auth_parser.h"
#include "server/text_session.h"
#include "server/worker_session.h"

namespace podcache {

using metrics::Counter;
using net::HandlerResult;
using net::NextStep;
using protocol::AuthStatus;
using protocol::Reply;

HandlerResult AuthSession::OnInput(net::WorkerHandler& worker, std::span<const char> input,
                                   OutputBuffer& output) {
  auto& session = static_cast<WorkerSession&>(worker);
  metrics::WorkerCounters& counters = session.counters();
  std::size_t at = 0;
  for (std::uint32_t used = 0; at < input.size(); ++used) {
    if (used == session.requests_per_turn()) return {at, NextStep::kYield, {}};
    const protocol::AuthResult asked = protocol::ParseAuth({input.data() + at, input.size() - at});
    at += asked.consumed;
    switch (asked.status) {
      case AuthStatus::kNeedMore:
        return {at, NextStep::kNeedInput, {}};
      case AuthStatus::kClose:
        counters.Add(Counter::kProtocolErrors);
        return {input.size(), NextStep::kAbort, {}};
      case AuthStatus::kError:
        command::Answer(asked.error, false, counters, output);
        break;
      case AuthStatus::kPair: {
        counters.Add(Counter::kAuthCmds);
        if (authenticator_.Accepts(asked.user, asked.password)) {
          command::Answer(Reply::kStored, false, counters, output);
          return {at, NextStep::kReplace, {}};
        }
        counters.Add(Counter::kAuthErrors);
        command::Answer(Reply::kAuthFailure, false, counters, output);
        break;
      }
    }
  }
  return {at, NextStep::kNeedInput, {}};
}

HandlerResult AuthSession::OnDirect(net::WorkerHandler&, std::size_t, OutputBuffer&) {
  PODCACHE_CHECK(false);  // It never asks for that.
  return {};
}

std::unique_ptr<net::ConnectionHandler> AuthSession::TakeSuccessor() {
  return std::make_unique<TextSession>();
}

}  // namespace podcache
