#include "server/watch_session.h"

#include "common/base/check.h"
#include "server/protocol/encoders.h"

namespace podcache {

using net::HandlerResult;
using net::NextStep;

HandlerResult WatchSession::OnInput(net::WorkerHandler&, std::span<const char> input,
                                    OutputBuffer& output) {
  if (!std::exchange(greeted_, true)) {
    protocol::AppendReply(protocol::Reply::kOk, output);
  } else {
    watcher_->Take(output);
  }
  return {input.size(), NextStep::kStream, {}};
}

HandlerResult WatchSession::OnDirect(net::WorkerHandler&, std::size_t, OutputBuffer&) {
  PODCACHE_CHECK(false);  // It never asks for that.
  return {};
}

}  // namespace podcache
