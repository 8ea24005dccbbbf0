// `stats` and its families: figures of the store, the workers and the server under memcached's
// names.
//
// Threads: one object for all workers; any thread. Invariant: a family has exactly memcached's
// keys, tools count them. `stats reset` moves only what this command shows: the metrics endpoint's
// counters never fall. Source: protocol.md 6, metrics.md 2.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/command/command_result.h"
#include "server/command/figures_since_reset.h"
#include "server/command/prefix_stats.h"
#include "server/command/server_context.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/stat_form.h"
#include "server/store/store.h"

namespace podcache::command {

class StatsCommand {
 public:
  StatsCommand(store::Store& store, metrics::CounterRegistry& registry, ServerContext& context,
               PrefixStats& prefixes) noexcept
      : store_(store), registry_(registry), context_(context), prefixes_(prefixes) {}

  // `arguments` is what stands behind the word stats, or the key of a binary request; `counters`
  // are the calling worker's. Appends the whole answer, or returns one that takes longer.
  std::unique_ptr<LongReply> Execute(std::string_view arguments, const protocol::StatForm& form,
                                     metrics::WorkerCounters& counters, OutputBuffer& output);

 private:
  // The lines of a short answer, and what ends it.
  CommandResult Run(std::string_view arguments, const protocol::StatForm& form,
                    OutputBuffer& output);
  void General(OutputBuffer& output);
  void Items(OutputBuffer& output);
  void Slabs(OutputBuffer& output);
  void Connections(OutputBuffer& output);
  void Reset();
  CommandResult Sizes(const protocol::StatForm& form, OutputBuffer& output);
  CommandResult Cachedump(std::string_view arguments, const protocol::StatForm& form);
  std::uint64_t Sum(metrics::Counter counter) const { return registry_.SumSinceReset(counter); }

  store::Store& store_;
  metrics::CounterRegistry& registry_;
  ServerContext& context_;
  PrefixStats& prefixes_;
  FiguresSinceReset since_reset_;
};

// The lines of `stats settings`, without the END.
void AppendSettings(const SettingsReport& settings, OutputBuffer& output);

}  // namespace podcache::command
