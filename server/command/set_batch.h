// Gathers consecutive sets whose values have arrived with them, and stores them together: straight
// from the input, and so that the store overlaps their cache misses. The replies are the same as
// one by one.
//
// Threads: one worker. Ownership: keys and values are views into the receive buffer: Flush before
// it is given up. Invariant: no other command runs while sets are pending.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/command/command_executor.h"
#include "server/command/event_log.h"
#include "server/command/prefix_stats.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/request.h"
#include "server/store/store.h"

namespace podcache::command {

class SetBatch {
 public:
  SetBatch(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
           PrefixStats& prefixes, CommandExecutor& executor) noexcept
      : session_(session),
        counters_(counters),
        events_(events),
        prefixes_(prefixes),
        executor_(executor) {}

  // Who watches is told of every item what it was before: those are stored one by one.
  bool open() const noexcept { return !events_.watches_keys(); }
  bool full() const noexcept { return count_ == store::StoreSession::kMaxBatch; }

  // Not when full. `request` is a set that wants a reply.
  void Add(const protocol::Request& request, std::string_view value) {
    prefixes_.CountSet(request.key);
    items_[count_++] = {session_.MakeKey(request.key), value, request.client_flags,
                        executor_.Absolute(request.exptime)};
  }
  // Stores what is pending and writes the replies.
  void Flush(OutputBuffer& output) {
    if (count_ != 0) Run(output);
  }

 private:
  void Run(OutputBuffer& output);

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  EventLog& events_;
  PrefixStats& prefixes_;
  CommandExecutor& executor_;
  std::array<store::WholeItem, store::StoreSession::kMaxBatch> items_;
  std::uint32_t count_ = 0;
};

}  // namespace podcache::command
