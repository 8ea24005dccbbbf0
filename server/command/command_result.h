// What an administrative command comes to: one of the fixed replies, or one that goes on for
// longer.
#pragma once

#include <memory>
#include <utility>

#include "server/command/long_reply.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

struct CommandResult {
  CommandResult(protocol::Reply fixed) : reply(fixed) {}  // NOLINT(google-explicit-constructor)
  explicit CommandResult(std::unique_ptr<LongReply> stream) : long_reply(std::move(stream)) {}

  protocol::Reply reply = protocol::Reply::kOk;
  std::unique_ptr<LongReply> long_reply;  // If set, `reply` means nothing.
};

}  // namespace podcache::command
