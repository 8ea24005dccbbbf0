// Requests that came as one datagram: a conversation without memory.
//
// Threads: the worker that received it. Source: protocol.md 5.
#pragma once

#include <cstddef>
#include <span>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/wire_protocol.h"

namespace podcache {

// Runs all complete requests; what is left of an incomplete one is forgotten. Should the replies
// become more than `max_reply_bytes`, or take too long, an error takes their place. Nobody can
// watch this way.
void AnswerDatagram(net::WorkerHandler& worker, WireProtocol protocol,
                    std::span<const char> requests, std::size_t max_reply_bytes,
                    OutputBuffer& output);

}  // namespace podcache
