#include "server/metrics/collector/podcache_families.h"

#include <algorithm>
#include <array>

namespace podcache::metrics {

using prometheus::MetricType;

namespace {

constexpr std::array<const char*, WorkerCounters::kClasses> kClassNames = {
    "get", "multiget", "store", "delete", "arithmetic", "touch", "admin"};
constexpr std::array<const char*, kDirections> kDirectionNames = {"grow", "shrink"};
constexpr std::array<const char*, kOutcomes> kOutcomeNames = {"done", "failed", "superseded"};

void AddDurations(const CounterTotals& totals, FamilyList& out) {
  HistogramData data;
  for (const std::uint64_t bound_ns : kDurationBucketsNs) {
    data.bounds.push_back(static_cast<double>(bound_ns) / 1e9);
  }
  out.Begin(
      MetricType::Histogram, "command_duration_seconds",
      "Time from the read that completed a request to the hand-over of its reply to the socket.");
  for (std::size_t row = 0; row < WorkerCounters::kClasses; ++row) {
    const auto& buckets = totals.duration_buckets[row];
    data.buckets.assign(buckets.begin(), buckets.end());
    data.sum = static_cast<double>(totals.duration_sum_ns[row]) / 1e9;
    out.Series({{"class", kClassNames[row]}}, data);
  }
}

void AddLeases(const CounterTotals& totals, FamilyList& out) {
  out.Begin(MetricType::Counter, "lease_wins_total",
            "Clients that were asked to renew an item: W in meta answers.");
  out.Series({{"kind", "vivify"}}, totals[Counter::kVivifyWins]);
  out.Series({{"kind", "recache"}}, totals[Counter::kRecacheWins]);
  out.Series({{"kind", "stale"}}, totals[Counter::kStaleWins]);
  out.Begin(MetricType::Counter, "lease_waits_total",
            "Clients told that another one has been asked: Z in meta answers.");
  out.Series({{"kind", "vivify"}}, totals[Counter::kVivifyWaits]);
  out.Series({{"kind", "recache"}}, totals[Counter::kRecacheWaits]);
  out.Series({{"kind", "stale"}}, totals[Counter::kStaleWaits]);
}

void AddService(const ServerSnapshot& s, const CounterTotals& totals, FamilyList& out) {
  out.Begin(MetricType::Gauge, "build_info", "What this server was built from; always 1.");
  out.Series({{"version", s.build.version}, {"revision", s.build.revision}, {"arch", s.build.arch}},
             1.0);
  AddDurations(totals, out);
  out.Begin(MetricType::Counter, "protocol_commands_total", "Requests by protocol.");
  out.Series({{"protocol", "text"}}, totals[Counter::kTextCommands]);
  out.Series({{"protocol", "meta"}}, totals[Counter::kMetaCommands]);
  out.Series({{"protocol", "binary"}}, totals[Counter::kBinaryCommands]);
  out.Begin(MetricType::Counter, "protocol_errors_total",
            "Requests answered with an error or by closing the connection.");
  out.Series({{"protocol", "text"}}, totals[Counter::kProtocolErrors]);
  out.Series({{"protocol", "meta"}}, totals[Counter::kMetaErrors]);
  out.Series({{"protocol", "binary"}}, totals[Counter::kBinaryErrors]);
  AddLeases(totals, out);
  out.Counter("auth_failures_total", "Refused attempts to authenticate.",
              totals[Counter::kAuthErrors]);
  out.Counter("tls_handshake_errors_total", "Failed TLS handshakes of clients.", 0);
}

// The parts of what counts against the budget; they add up to it.
void AddMemoryUse(const ServerSnapshot& s, FamilyList& out) {
  const store::StoreStats& store = s.store;
  const std::uint64_t buffers = std::min(s.buffer_bytes, store.external_bytes);
  const std::uint64_t connections = std::min(s.connection_bytes, store.external_bytes - buffers);
  const std::uint64_t free_segments = std::min(store.free_segment_bytes, store.segment_bytes);
  out.Begin(MetricType::Gauge, "memory_used_bytes",
            "Memory that counts against the budget, by use.");
  out.Series({{"kind", "items"}}, store.segment_bytes - free_segments);
  out.Series({{"kind", "index"}}, store.index_bytes);
  out.Series({{"kind", "buffers"}}, buffers);
  out.Series({{"kind", "connections"}}, connections);
  out.Series({{"kind", "free_segments"}}, free_segments);
  out.Series({{"kind", "other"}},
             store.external_bytes - buffers - connections + store.overhead_bytes);
}

void AddResizes(const ResizeFigures& resizes, FamilyList& out) {
  out.Gauge("memory_resize_in_progress", "Whether the budget is on its way to another target.",
            resizes.in_progress ? 1 : 0);
  out.Begin(MetricType::Counter, "memory_resizes_total",
            "Changes of the budget and how they ended.");
  for (std::size_t d = 0; d < kDirections; ++d) {
    for (std::size_t o = 0; o < kOutcomes; ++o) {
      out.Series({{"direction", kDirectionNames[d]}, {"result", kOutcomeNames[o]}},
                 resizes.total[d][o]);
    }
  }
  out.Begin(MetricType::Histogram, "memory_resize_duration_seconds",
            "Time from the request to resize until the budget was in force.");
  for (std::size_t d = 0; d < kDirections; ++d) {
    out.Series({{"direction", kDirectionNames[d]}}, resizes.duration_seconds[d]);
  }
  out.Counter("memory_pressure_shrinks_total",
              "Times the budget was lowered because the cgroup limit was.",
              resizes.pressure_shrinks);
}

void AddMemory(const ServerSnapshot& s, FamilyList& out) {
  out.Gauge("resident_memory_bytes", "Resident memory of this process.",
            s.process.resident_memory_bytes);
  if (s.cgroup.memory_limit_bytes) {
    out.Gauge("cgroup_memory_limit_bytes", "Memory limit of the control group.",
              *s.cgroup.memory_limit_bytes);
  }
  if (s.cgroup.memory_usage_bytes) {
    out.Gauge("cgroup_memory_usage_bytes", "Memory used by the control group, page cache included.",
              *s.cgroup.memory_usage_bytes);
  }
  out.Gauge("memory_budget_bytes", "Budget of the cache in force now.", s.store.memory_limit_bytes);
  out.Gauge("memory_budget_target_bytes", "Budget of the cache asked for.",
            s.store.memory_target_bytes);
  AddMemoryUse(s, out);
  AddResizes(s.resizes, out);
}

void AddWorkers(const std::vector<WorkerFigures>& workers, FamilyList& out) {
  const auto each = [&](MetricType type, const char* name, const char* help, auto value) {
    out.Begin(type, name, help);
    for (std::size_t i = 0; i < workers.size(); ++i) {
      out.Series({{"worker", std::to_string(i)}}, static_cast<double>(value(workers[i])));
    }
  };
  each(MetricType::Gauge, "worker_connections", "Connections by worker.",
       [](const WorkerFigures& worker) { return worker.connections; });
  each(MetricType::Counter, "worker_busy_seconds_total",
       "Time a worker spent at work, not waiting.",
       [](const WorkerFigures& worker) { return worker.busy_seconds; });
  each(MetricType::Counter, "worker_commands_total", "Requests by worker.",
       [](const WorkerFigures& worker) { return worker.commands; });
}

void AddThreads(const ServerSnapshot& s, const CounterTotals& totals, FamilyList& out) {
  const ThreadFigures& threads = s.threads;
  out.Gauge("threads", "Worker threads running.", threads.running);
  out.Gauge("threads_target", "Worker threads asked for.", threads.target);
  out.Begin(MetricType::Counter, "thread_resizes_total", "Changes of the number of threads.");
  out.Series({{"result", "done"}}, threads.resizes_done);
  out.Series({{"result", "failed"}}, threads.resizes_failed);
  if (s.cgroup.cpu_quota_cores) {
    out.Gauge("cgroup_cpu_quota_cores", "CPU quota of the control group, in cores.",
              *s.cgroup.cpu_quota_cores);
  }
  out.Counter("cgroup_cpu_throttled_seconds_total",
              "Time the control group was held back by its quota.", s.cgroup.cpu_throttled_seconds);
  AddWorkers(threads.workers, out);
  out.Counter("connection_handoffs_total", "Connections moved between workers.",
              totals[Counter::kConnectionHandoffs]);
  out.Gauge("connections_throttled", "Connections not read from because their output is full.",
            s.connections.throttled);
  out.Begin(MetricType::Histogram, "event_loop_stall_seconds",
            "Time between two visits of a worker to its event loop.");
  out.Series({}, threads.event_loop_stall_seconds);
  out.Gauge("oldest_reader_age_seconds",
            "Age of the oldest read that holds back the reuse of memory.",
            threads.oldest_reader_age_seconds);
}

void AddEvicted(const char* name, const char* help, const store::StoreStats& store,
                std::uint64_t store::QueueStats::*for_room,
                std::uint64_t store::QueueStats::*by_shrink, FamilyList& out) {
  out.Begin(MetricType::Counter, name, help);
  out.Series({{"queue", "small"}, {"reason", "capacity"}}, store.small_queue.*for_room);
  out.Series({{"queue", "small"}, {"reason", "shrink"}}, store.small_queue.*by_shrink);
  out.Series({{"queue", "main"}, {"reason", "capacity"}}, store.main_queue.*for_room);
  out.Series({{"queue", "main"}, {"reason", "shrink"}}, store.main_queue.*by_shrink);
}

void AddEviction(const store::StoreStats& store, const StoreDifferences& differences,
                 FamilyList& out) {
  using store::QueueStats;
  AddEvicted("evicted_items_total", "Valid items removed, by queue and reason.", store,
             &QueueStats::evicted_for_room_items, &QueueStats::evicted_by_shrink_items, out);
  AddEvicted("evicted_bytes_total", "Bytes of valid items removed, by queue and reason.", store,
             &QueueStats::evicted_for_room_bytes, &QueueStats::evicted_by_shrink_bytes, out);
  out.Begin(MetricType::Counter, "expired_items_total",
            "Expired items removed, by what came upon them.");
  out.Series({{"how", "read"}}, differences.expired_when_read_items);
  out.Series({{"how", "sweep"}}, store.expired_in_sweep_items);
  out.Series({{"how", "segment"}}, store.expired_in_segment_items);
  out.Begin(MetricType::Gauge, "queue_items", "Items by eviction queue.");
  out.Series({{"queue", "small"}}, store.small_queue.items);
  out.Series({{"queue", "main"}}, store.main_queue.items);
  out.Series({{"queue", "ghost"}}, store.ghosts);
  out.Begin(MetricType::Gauge, "queue_bytes", "Bytes of items by eviction queue.");
  out.Series({{"queue", "small"}}, store.small_queue.item_bytes);
  out.Series({{"queue", "main"}}, store.main_queue.item_bytes);
  out.Counter("stored_bytes_total", "Bytes of items written.", store.stored_bytes);
  out.Counter("copied_bytes_total", "Bytes of items copied to keep them.", store.copied_bytes);
}

void AddSegments(const store::StoreStats& store, FamilyList& out) {
  out.Begin(MetricType::Gauge, "segments", "Segments of item memory by state.");
  out.Series({{"state", "free"}}, store.segments_free);
  out.Series({{"state", "open"}}, store.segments_open);
  out.Series({{"state", "sealed"}}, store.segments_sealed);
  out.Series({{"state", "draining"}}, 0.0);
  out.Gauge("segment_size_bytes", "Size of a segment.", store.segment_size_bytes);
  out.Gauge("segment_live_bytes", "Bytes of live items in segments.", store.item_bytes);
  out.Gauge("segment_dead_bytes", "Bytes of dead items in segments.", store.dead_bytes);
  out.Gauge("segment_slack_bytes", "Bytes of segments reserved and not yet written.",
            store.slack_bytes);
  out.Counter("segment_compactions_total", "Segments emptied because most of them was dead.",
              store.compacted_segments);
  out.Counter("eviction_shifts_total",
              "Times that other items seemed to become popular at a stroke.",
              store.popularity_shifts);
  out.Counter("eviction_shifts_refuted_total", "Those in which the old ones proved popular still.",
              store.refuted_shifts);
  out.Gauge("index_entries", "Entries of the index.", store.index_entries);
  out.Gauge("index_slots", "Slots of the index.", store.index_slots);
  out.Gauge("restart_restored_items", "Items found by a warm restart of this process.",
            store.restored_items);
  out.Gauge("restart_restored_seconds", "How long that took.", store.restored_seconds);
}

}  // namespace

StoreDifferences StoreDifferences::Of(const store::StoreStats& store) {
  const auto rest = [](std::uint64_t all, std::uint64_t part) {
    return all > part ? all - part : 0;
  };
  return {rest(store.expired_items, store.expired_in_sweep_items + store.expired_in_segment_items)};
}

std::vector<prometheus::MetricFamily> PodcacheFamilies(const ServerSnapshot& snapshot,
                                                       const CounterTotals& totals,
                                                       const StoreDifferences& differences) {
  FamilyList out("podcache_");
  AddService(snapshot, totals, out);
  AddMemory(snapshot, out);
  AddThreads(snapshot, totals, out);
  AddEviction(snapshot.store, differences, out);
  AddSegments(snapshot.store, out);
  return out.Take();
}

}  // namespace podcache::metrics
