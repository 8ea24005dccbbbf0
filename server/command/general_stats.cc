// `stats` without a family: memcached's keys in memcached's order. Those of what does not exist
// here (slab classes, LRU queues, a growing hash table) are 0; docs/protocol.md lists them.
#include <bit>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>

#include "common/base/version.h"
#include "server/command/stats_command.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using metrics::Counter;
using protocol::AppendStat;

namespace {

// Seconds, a dot, six digits of microseconds: exporters divide the second part by a million.
std::string CpuTime(std::uint64_t microseconds) {
  constexpr std::uint64_t kPerSecond = 1'000'000;
  char text[32];
  std::snprintf(text, sizeof text, "%" PRIu64 ".%06" PRIu64, microseconds / kPerSecond,
                microseconds % kPerSecond);
  return text;
}

void AppendProcess(const ServerStats& server, OutputBuffer& out) {
  AppendStat("pid", static_cast<std::uint64_t>(server.pid), out);
  AppendStat("uptime", server.uptime_seconds, out);
  AppendStat("time", static_cast<std::uint64_t>(server.unix_time_seconds), out);
  AppendStat("version", ProtocolVersion(), out);
  AppendStat("libevent", server.libevent_version, out);
  AppendStat("pointer_size", 8 * sizeof(void*), out);
  AppendStat("rusage_user", CpuTime(server.user_cpu_us), out);
  AppendStat("rusage_system", CpuTime(server.system_cpu_us), out);
  AppendStat("max_connections", server.max_connections, out);
  AppendStat("curr_connections", server.current_connections, out);
  AppendStat("total_connections", server.total_connections, out);
  AppendStat("rejected_connections", server.rejected_connections, out);
  AppendStat("connection_structures", server.connection_structures, out);
  AppendStat("response_obj_oom", server.response_out_of_memory, out);
  AppendStat("response_obj_count", server.response_buffers, out);
  AppendStat("response_obj_bytes", server.response_buffer_bytes, out);
  AppendStat("read_buf_count", server.read_buffers, out);
  AppendStat("read_buf_bytes", server.read_buffer_bytes, out);
  AppendStat("read_buf_bytes_free", server.read_buffer_free_bytes, out);
  AppendStat("read_buf_oom", server.read_out_of_memory, out);
  AppendStat("reserved_fds", server.reserved_fds, out);
}

struct NamedCounter {
  std::string_view name;
  Counter counter;
};

constexpr NamedCounter kCommandCounters[] = {{"get_hits", Counter::kGetHits},
                                             {"get_misses", Counter::kGetMisses},
                                             {"get_expired", Counter::kGetExpired},
                                             {"get_flushed", Counter::kGetFlushed},
                                             {"delete_misses", Counter::kDeleteMisses},
                                             {"delete_hits", Counter::kDeleteHits},
                                             {"incr_misses", Counter::kIncrMisses},
                                             {"incr_hits", Counter::kIncrHits},
                                             {"decr_misses", Counter::kDecrMisses},
                                             {"decr_hits", Counter::kDecrHits},
                                             {"cas_misses", Counter::kCasMisses},
                                             {"cas_hits", Counter::kCasHits},
                                             {"cas_badval", Counter::kCasBadval},
                                             {"touch_hits", Counter::kTouchHits},
                                             {"touch_misses", Counter::kTouchMisses},
                                             {"store_too_large", Counter::kStoreTooLarge},
                                             {"store_no_memory", Counter::kStoreNoMemory}};

// Memory is not moved between slab classes here: these stay at rest.
void AppendSlabMover(OutputBuffer& out) {
  for (const std::string_view name :
       {"slab_reassign_rescues", "slab_reassign_chunk_rescues", "slab_reassign_inline_reclaim",
        "slab_reassign_busy_items", "slab_reassign_busy_deletes", "slab_reassign_busy_nomem"}) {
    AppendStat(name, 0, out);
  }
  AppendStat("slab_reassign_last_busy_status", "none", out);
  AppendStat("slab_reassign_running", 0, out);
  AppendStat("slabs_moved", 0, out);
}

void AppendLogging(const ServerStats& server, OutputBuffer& out) {
  AppendStat("malloc_fails", 0, out);
  AppendStat("log_worker_dropped", server.watch_lines_dropped, out);
  AppendStat("log_worker_written", server.watch_lines_written, out);
  AppendStat("log_watcher_skipped", server.watch_lines_skipped, out);
  AppendStat("log_watcher_sent", server.watch_lines_sent, out);
  AppendStat("log_watchers", server.watchers, out);
  AppendStat("unexpected_napi_ids", 0, out);
  AppendStat("round_robin_fallback", 0, out);
}

}  // namespace

void StatsCommand::General(OutputBuffer& out) {
  const ServerStats server = since_reset_.Of(context_.Stats());
  const store::StoreStats store = since_reset_.Of(store_.stats());
  const SettingsReport settings = context_.Settings();
  AppendProcess(server, out);
  AppendStat("cmd_get", Sum(Counter::kCmdGet), out);
  AppendStat("cmd_set", Sum(Counter::kCmdSet), out);
  AppendStat("cmd_flush", Sum(Counter::kCmdFlush), out);
  AppendStat("cmd_touch", Sum(Counter::kCmdTouch), out);
  AppendStat("cmd_meta", Sum(Counter::kCmdMeta), out);
  for (const auto& [name, counter] : kCommandCounters) AppendStat(name, Sum(counter), out);
  if (settings.idle_timeout != 0) AppendStat("idle_kicks", server.idle_kicks, out);
  AppendStat("auth_cmds", Sum(Counter::kAuthCmds), out);
  AppendStat("auth_errors", Sum(Counter::kAuthErrors), out);
  AppendStat("bytes_read", Sum(Counter::kBytesRead), out);
  AppendStat("bytes_written", Sum(Counter::kBytesWritten), out);
  AppendStat("limit_maxbytes", store.memory_limit_bytes, out);
  AppendStat("accepting_conns", server.accepting_connections ? 1 : 0, out);
  AppendStat("listen_disabled_num", server.listen_disabled, out);
  AppendStat("time_in_listen_disabled_us", server.listen_disabled_us, out);
  AppendStat("threads", server.threads, out);
  AppendStat("conn_yields", Sum(Counter::kConnYields), out);
  AppendStat("hash_power_level",
             static_cast<std::uint64_t>(std::bit_width(store.index_slots | 1) - 1), out);
  AppendStat("hash_bytes", store.index_bytes, out);
  AppendStat("hash_is_expanding", 0, out);
  AppendSlabMover(out);
  if (settings.lru_crawler) {
    AppendStat("lru_crawler_running", 0, out);
    AppendStat("lru_crawler_starts", store.sweeps, out);
  }
  if (settings.lru_maintainer) AppendStat("lru_maintainer_juggles", store.maintenance_runs, out);
  AppendLogging(server, out);
  AppendStat("bytes", store.item_bytes, out);
  AppendStat("curr_items", store.items, out);
  AppendStat("total_items", store.total_items, out);
  AppendStat("slab_global_page_pool", store.segments_free / store::kSegmentsPerPage, out);
  AppendStat("expired_unfetched", store.expired_unfetched_items, out);
  AppendStat("evicted_unfetched", store.evicted_unfetched_items, out);
  if (settings.lru_maintainer) AppendStat("evicted_active", store.evicted_active_items, out);
  AppendStat("evictions", store.evicted_items, out);
  AppendStat("reclaimed", store.reclaimed_items, out);
  AppendStat("crawler_reclaimed", store.expired_in_sweep_items, out);
  AppendStat("crawler_items_checked", store.swept_items, out);
  AppendStat("lrutail_reflocked", 0, out);
  if (settings.lru_maintainer) {
    AppendStat("moves_to_cold", 0, out);
    AppendStat("moves_to_warm", 0, out);
    AppendStat("moves_within_lru", store.kept_items, out);
    AppendStat("direct_reclaims", store.direct_reclaims, out);
    AppendStat("lru_bumps_dropped", 0, out);
  }
}

}  // namespace podcache::command
