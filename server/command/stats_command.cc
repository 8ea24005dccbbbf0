#include "server/command/stats_command.h"

#include <bit>
#include <cinttypes>
#include <cstdio>
#include <string>
#include <utility>

#include "common/base/version.h"
#include "server/command/answer.h"
#include "server/command/detail_command.h"
#include "server/command/item_listings.h"
#include "server/protocol/binary_encoders.h"
#include "server/protocol/encoders.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using metrics::Counter;
using protocol::AppendStat;
using protocol::Reply;

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

// All that is waiting in a buffer, as one text.
std::string TakeText(OutputBuffer& buffer) {
  std::string text;
  iovec piece;
  while (buffer.FillIovec(&piece, 1) > 0) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    buffer.Consume(piece.iov_len);
  }
  return text;
}

}  // namespace

std::unique_ptr<LongReply> StatsCommand::Execute(std::string_view arguments,
                                                 const protocol::StatForm& form,
                                                 metrics::WorkerCounters& counters,
                                                 OutputBuffer& output) {
  const protocol::BinaryHead* const request = form.request();
  if (request == nullptr) {
    CommandResult result = Run(arguments, form, output);
    if (result.long_reply == nullptr) Answer(result.reply, false, counters, output);
    return std::move(result.long_reply);
  }
  OutputBuffer lines;
  CommandResult result = Run(arguments, form, lines);
  if (result.long_reply != nullptr) return std::move(result.long_reply);
  // The one refusal that the binary protocol has for a family, whatever is wrong with it.
  if (protocol::IsError(result.reply)) {
    protocol::AppendBinaryError(*request, protocol::BinaryStatus::kNotFound, output);
  } else {
    protocol::AppendBinaryStats(*request, TakeText(lines), output);
  }
  return nullptr;
}

CommandResult StatsCommand::Run(std::string_view arguments, const protocol::StatForm& form,
                                OutputBuffer& output) {
  const std::string_view family = protocol::TakeToken(arguments);
  CommandResult result = Reply::kEnd;
  if (family.empty()) {
    General(output);
  } else if (family == "settings") {
    AppendSettings(context_.Settings(), output);
  } else if (family == "items") {
    Items(output);
  } else if (family == "slabs") {
    Slabs(output);
  } else if (family == "sizes") {
    result = Sizes(form, output);
  } else if (family == "reset") {
    Reset();
    result = Reply::kReset;
  } else if (family == "detail") {
    result = context_.Settings().dump_enabled ? StatsDetail(arguments, form, prefixes_, context_)
                                              : Reply::kStatsDetailNotAllowed;
  } else if (family == "cachedump") {
    result = Cachedump(arguments, form);
  } else if (family == "conns") {
    Connections(output);
  } else {
    result = Reply::kError;
  }
  return result;
}

CommandResult StatsCommand::Sizes(const protocol::StatForm& form, OutputBuffer& output) {
  if (context_.Settings().track_sizes) return CommandResult(NewSizesListing(store_, form));
  AppendStat("sizes_status", "disabled", output);
  return Reply::kEnd;
}

CommandResult StatsCommand::Cachedump(std::string_view arguments, const protocol::StatForm& form) {
  constexpr std::uint32_t kClasses = 64;
  constexpr std::uint32_t kOurClass = 1;
  if (!context_.Settings().dump_enabled) return Reply::kStatsCachedumpNotAllowed;
  const std::string_view class_token = protocol::TakeToken(arguments);
  const std::string_view items_token = protocol::TakeToken(arguments);
  if (items_token.empty()) return Reply::kStatsBadLine;
  std::uint32_t id = 0;
  std::uint32_t items = 0;
  if (!protocol::ParseUnsigned32(class_token, id) ||
      !protocol::ParseUnsigned32(items_token, items)) {
    return Reply::kBadFormat;
  }
  if (id >= kClasses) return Reply::kBadSlabId;
  return CommandResult(NewCachedump(store_, form, items, id == kOurClass));
}

void StatsCommand::General(OutputBuffer& out) {
  const ServerStats server = ServerFigures();
  const store::StoreStats store = StoreFigures();
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
  if (settings.lru_maintainer) AppendStat("lru_maintainer_juggles", 0, out);
  AppendLogging(server, out);
  AppendStat("bytes", store.item_bytes, out);
  AppendStat("curr_items", store.items, out);
  AppendStat("total_items", store.total_items, out);
  AppendStat("slab_global_page_pool", store.segments_free, out);
  AppendStat("expired_unfetched", store.expired_unfetched_items, out);
  AppendStat("evicted_unfetched", store.evicted_unfetched_items, out);
  if (settings.lru_maintainer) AppendStat("evicted_active", 0, out);
  AppendStat("evictions", store.evicted_items, out);
  AppendStat("reclaimed", store.reclaimed_items, out);
  AppendStat("crawler_reclaimed", store.expired_in_sweep_items, out);
  AppendStat("crawler_items_checked", store.swept_items, out);
  AppendStat("lrutail_reflocked", 0, out);
  if (settings.lru_maintainer) {
    for (const std::string_view name : {"moves_to_cold", "moves_to_warm", "moves_within_lru",
                                        "direct_reclaims", "lru_bumps_dropped"}) {
      AppendStat(name, 0, out);
    }
  }
}

void StatsCommand::Connections(OutputBuffer& out) {
  for (const ConnectionReport& one : context_.Connections()) {
    const std::string prefix = std::to_string(one.id) + ":";
    if (one.is_udp) AppendStat(prefix + "UDP", "UDP", out);
    AppendStat(prefix + "addr", one.address, out);
    if (!one.listen_address.empty()) AppendStat(prefix + "listen_addr", one.listen_address, out);
    AppendStat(prefix + "state", one.state, out);
    AppendStat(prefix + "secs_since_last_cmd", one.idle_seconds, out);
  }
}

void StatsCommand::Reset() {
  const store::StoreStats store = store_.stats();
  const ServerStats server = context_.Stats();
  registry_.MarkReset();
  prefixes_.Clear();
  MutexLock lock(mutex_);
  store_at_reset_ = store;
  server_at_reset_ = server;
}

store::StoreStats StatsCommand::StoreFigures() {
  store::StoreStats now = store_.stats();
  MutexLock lock(mutex_);
  now.total_items -= store_at_reset_.total_items;
  now.evicted_items -= store_at_reset_.evicted_items;
  now.evicted_unfetched_items -= store_at_reset_.evicted_unfetched_items;
  now.expired_unfetched_items -= store_at_reset_.expired_unfetched_items;
  now.reclaimed_items -= store_at_reset_.reclaimed_items;
  now.evicted_with_exptime_items -= store_at_reset_.evicted_with_exptime_items;
  now.expired_in_sweep_items -= store_at_reset_.expired_in_sweep_items;
  now.swept_items -= store_at_reset_.swept_items;
  now.sweeps -= store_at_reset_.sweeps;
  return now;
}

ServerStats StatsCommand::ServerFigures() {
  ServerStats now = context_.Stats();
  MutexLock lock(mutex_);
  now.total_connections -= server_at_reset_.total_connections;
  now.rejected_connections -= server_at_reset_.rejected_connections;
  now.listen_disabled -= server_at_reset_.listen_disabled;
  now.listen_disabled_us -= server_at_reset_.listen_disabled_us;
  now.idle_kicks -= server_at_reset_.idle_kicks;
  now.read_out_of_memory -= server_at_reset_.read_out_of_memory;
  now.watch_lines_dropped -= server_at_reset_.watch_lines_dropped;
  now.watch_lines_written -= server_at_reset_.watch_lines_written;
  now.watch_lines_skipped -= server_at_reset_.watch_lines_skipped;
  now.watch_lines_sent -= server_at_reset_.watch_lines_sent;
  return now;
}

}  // namespace podcache::command
