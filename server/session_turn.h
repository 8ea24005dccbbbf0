// One call of a connection's handler: the input, how far it has been taken, and the budget that
// lets others have their turn.
//
// Threads: the worker that owns the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/worker_session.h"

namespace podcache {

// Replies a connection may pile up before the others get their turn, and before they are sent.
inline constexpr std::size_t kMaxReplyBytesPerTurn = 256 * 1024;
// Less than this of a value is not worth a read of its own.
inline constexpr std::size_t kMinDirectBytes = 4096;

struct SessionTurn {
  WorkerSession& worker;
  std::string_view input;
  OutputBuffer& output;
  std::size_t at = 0;      // In the input.
  std::uint32_t used = 0;  // Of the budget: requests, and batches of a long retrieval.

  std::string_view rest() const noexcept { return input.substr(at); }
  bool exhausted() const noexcept { return at == input.size(); }
  bool over_budget() const noexcept {
    return used >= worker.requests_per_turn() || output.pending_bytes() > kMaxReplyBytesPerTurn;
  }
};

}  // namespace podcache
