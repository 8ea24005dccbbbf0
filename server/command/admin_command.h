// Commands that concern the server rather than one key: what each of them says is decided here or
// in a file of its own (crawler_command.h, tuning_commands.h, stats_command.h).
//
// Threads: one object for all workers; any thread.
// Source: protocol.md 2, 6, 8.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/clock.h"
#include "common/base/output_buffer.h"
#include "server/command/command_options.h"
#include "server/command/long_reply.h"
#include "server/command/prefix_stats.h"
#include "server/command/server_context.h"
#include "server/command/stats_command.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/encoders.h"
#include "server/protocol/request.h"
#include "server/store/store.h"

namespace podcache::command {

class AdminCommand {
 public:
  AdminCommand(store::Store& store, metrics::CounterRegistry& registry, ServerContext& context,
               const Clock& clock, const CommandOptions& options);

  // `counters` are those of the calling worker.
  // A reply too long to be appended is returned.
  std::unique_ptr<LongReply> Execute(const protocol::Request& request,
                                     metrics::WorkerCounters& counters, OutputBuffer& output);
  // After so many seconds, or at that Unix time; at once from 0 down. False where it is not
  // allowed.
  bool Flush(std::int64_t delay_seconds);
  PrefixStats& prefixes() noexcept { return prefixes_; }
  StatsCommand& stats() noexcept { return stats_; }

 private:
  protocol::Reply FlushAll(std::string_view arguments);
  protocol::Reply Verbosity(std::string_view arguments);
  protocol::Reply Shutdown(std::string_view arguments);
  protocol::Reply CacheMemlimit(std::string_view arguments);
  protocol::Reply DebugTime(std::string_view arguments);

  store::Store& store_;
  ServerContext& context_;
  const Clock& clock_;
  const CommandOptions options_;
  PrefixStats prefixes_;
  StatsCommand stats_;
};

}  // namespace podcache::command
