// The collector's half of live_backend.h.
#include <algorithm>
#include <chrono>
#include <string>

#include "common/base/version.h"
#include "common/cgroup/cgroup.h"
#include "common/process/process_stats.h"
#include "server/command/server_context.h"
#include "server/live_backend.h"
#include "server/net/worker_pool.h"
#include "server/runtime_config.h"
#include "server/store/store.h"

namespace podcache::server {

namespace {

using std::chrono::duration;

metrics::BuildFacts Build() {
  return {std::string(Version()), std::string(Revision()), std::string(Architecture()),
          std::string(ProtocolVersion())};
}

metrics::ConnectionFigures Connections(const command::ServerStats& server,
                                       const net::PoolReport& pool) {
  metrics::ConnectionFigures figures;
  figures.current = server.current_connections;
  figures.max = server.max_connections;
  figures.total = server.total_connections;
  figures.rejected = server.rejected_connections;
  figures.listener_disabled = server.listen_disabled;
  figures.accepting = server.accepting_connections;
  figures.throttled = pool.throttled;
  return figures;
}

metrics::LruSettings Lru(const command::SettingsReport& settings) {
  metrics::LruSettings lru;
  lru.enabled = settings.lru_crawler;
  lru.sleep_us = settings.lru_crawler_sleep;
  lru.to_crawl = settings.lru_crawler_tocrawl;
  lru.maintainer = settings.lru_maintainer;
  lru.hot_percent = settings.hot_lru_pct;
  lru.warm_percent = settings.warm_lru_pct;
  lru.hot_max_factor = settings.hot_max_factor;
  lru.warm_max_factor = settings.warm_max_factor;
  return lru;
}

metrics::CgroupFigures Cgroup(const cgroup::Reader& cgroup) {
  metrics::CgroupFigures figures;
  figures.memory_limit_bytes = cgroup.MemoryLimitBytes();
  figures.memory_usage_bytes = cgroup.MemoryUsageBytes();
  if (const auto milli = cgroup.CpuLimitMilli()) {
    figures.cpu_quota_cores = static_cast<double>(*milli) / 1000.0;
  }
  if (const auto throttled = cgroup.CpuThrottledTime()) {
    figures.cpu_throttled_seconds = duration<double>(*throttled).count();
  }
  return figures;
}

metrics::ResizeFigures Resizes(RuntimeConfig& runtime) {
  static_assert(metrics::kDirections == static_cast<std::size_t>(ResizeDirection::kCount));
  static_assert(metrics::kOutcomes == static_cast<std::size_t>(ResizeResult::kCount));
  const ResizeCounters counters = runtime.counters();
  metrics::ResizeFigures figures;
  figures.in_progress = runtime.progress().state != ResizeProgress::State::kIdle;
  figures.pressure_shrinks = counters.pressure_shrinks;
  for (std::size_t d = 0; d < metrics::kDirections; ++d) {
    figures.total[d] = counters.memory_resizes[d];
    metrics::HistogramData& data = figures.duration_seconds[d];
    for (const std::uint32_t bound_ms : kResizeBucketsMs) data.bounds.push_back(bound_ms / 1e3);
    data.buckets.assign(counters.duration_buckets[d].begin(), counters.duration_buckets[d].end());
    data.sum = counters.duration_sum_seconds[d];
  }
  return figures;
}

metrics::ThreadFigures Threads(RuntimeConfig& runtime, const net::PoolReport& pool) {
  const ResizeCounters counters = runtime.counters();
  metrics::ThreadFigures figures;
  figures.running = pool.threads_running;
  figures.target = pool.threads_target;
  figures.resizes_done = counters.thread_resizes_done;
  figures.resizes_failed = counters.thread_resizes_failed;
  for (const net::WorkerReport& worker : pool.workers) {
    figures.workers.push_back(
        {worker.connections, static_cast<double>(worker.busy_ns) / 1e9, worker.commands});
  }
  metrics::HistogramData& stalls = figures.event_loop_stall_seconds;
  for (const std::uint32_t bound_us : net::kTurnBucketsUs) stalls.bounds.push_back(bound_us / 1e6);
  stalls.buckets.assign(pool.turns.buckets.begin(), pool.turns.buckets.end());
  stalls.sum = static_cast<double>(pool.turns.sum_ns) / 1e9;
  return figures;
}

}  // namespace

metrics::SnapshotSource NewLiveSnapshotSource(const RunningParts& parts) {
  return [parts] {
    const command::ServerStats server = parts.context.Stats();
    const net::PoolReport pool = parts.pool.Report();
    metrics::ServerSnapshot snapshot;
    snapshot.build = Build();
    snapshot.process = ReadProcessStats();
    snapshot.uptime_seconds = static_cast<double>(server.uptime_seconds);
    snapshot.unix_time_seconds = static_cast<double>(server.unix_time_seconds);
    snapshot.connections = Connections(server, pool);
    snapshot.lru = Lru(parts.context.Settings());
    snapshot.cgroup = Cgroup(parts.runtime.cgroup());
    snapshot.resizes = Resizes(parts.runtime);
    snapshot.threads = Threads(parts.runtime, pool);
    snapshot.store = parts.store.stats();
    // What is charged beside segments and index are partial requests, unsent replies, and the
    // connections themselves.
    snapshot.buffer_bytes = pool.read_buffer_bytes + pool.reply_buffer_bytes;
    snapshot.connection_bytes = snapshot.store.external_bytes -
                                std::min(snapshot.buffer_bytes, snapshot.store.external_bytes);
    return snapshot;
  };
}

}  // namespace podcache::server
