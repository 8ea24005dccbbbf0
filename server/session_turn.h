// One call of a connection's handler: the input, how far it has been taken, and the budget that
// lets others have their turn.
//
// Threads: the worker that owns the connection.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/store/store.h"
#include "server/worker_session.h"

namespace podcache {

// Replies a connection may pile up before the others get their turn, and before they are sent.
inline constexpr std::size_t kMaxReplyBytesPerTurn = std::size_t{256} * 1024;
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
  // Takes what has come of a value off the input. True when the value is complete.
  bool Fill(store::WriteHandle& handle) noexcept {
    for (std::span<char> room = handle.Writable(); !room.empty(); room = handle.Writable()) {
      const std::size_t n = std::min(room.size(), input.size() - at);
      if (n == 0) return false;
      std::memcpy(room.data(), input.data() + at, n);
      at += n;
      handle.Advance(n);
    }
    return true;
  }
  // Takes up to `left_bytes` off the input, and from that number.
  void Skip(std::uint64_t& left_bytes) noexcept {
    const std::uint64_t n = std::min<std::uint64_t>(left_bytes, input.size() - at);
    at += n;
    left_bytes -= n;
  }
};

// The rest of a large value is received straight into the item.
inline net::HandlerResult WantValue(store::WriteHandle& handle, std::size_t consumed) noexcept {
  const std::span<char> room = handle.Writable();
  if (room.size() < kMinDirectBytes) return {consumed, net::NextStep::kNeedInput, {}};
  return {consumed, net::NextStep::kDirect, room};
}

}  // namespace podcache
