// Sending a fixed reply: errors are counted even where noreply hides them.
#pragma once

#include "common/base/output_buffer.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

inline void Answer(protocol::Reply reply, bool noreply, metrics::WorkerCounters& counters,
                   OutputBuffer& output) {
  if (protocol::IsError(reply)) counters.Add(metrics::Counter::kProtocolErrors);
  if (!noreply) protocol::AppendReply(reply, output);
}

}  // namespace podcache::command
