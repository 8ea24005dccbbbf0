#include "server/metrics/collector/memcached_families.h"

namespace podcache::metrics {

namespace {

// What the cache has no counterpart of stands still: lists of a least-recently-used order and the
// thread that walks them.
constexpr double kNone = 0;

void AddServer(const ServerSnapshot& s, FamilyList& out) {
  out.Gauge("up", "Could the memcached server be reached.", 1);
  out.Counter("uptime_seconds", "Number of seconds since the server started.", s.uptime_seconds);
  out.Gauge("time_seconds", "Current UNIX time according to the server.", s.unix_time_seconds);
  out.Begin(prometheus::MetricType::Gauge, "version", "The protocol version of this server.");
  out.Series({{"version", s.build.protocol_version}}, 1.0);
  out.Counter("process_user_cpu_seconds_total", "CPU time spent in user mode, in seconds.",
              s.process.user_cpu_seconds);
  out.Counter("process_system_cpu_seconds_total", "CPU time spent in the kernel, in seconds.",
              s.process.system_cpu_seconds);
}

void AddConnections(const ServerSnapshot& s, const CounterTotals& totals, FamilyList& out) {
  out.Counter("read_bytes_total", "Bytes received from clients.", totals[Counter::kBytesRead]);
  out.Counter("written_bytes_total", "Bytes sent to clients.", totals[Counter::kBytesWritten]);
  out.Gauge("current_connections", "Client connections open now.", s.connections.current);
  out.Gauge("max_connections", "Client connections admitted at most.", s.connections.max);
  out.Counter("connections_total", "Client connections admitted since the server started.",
              s.connections.total);
  out.Counter("connections_rejected_total", "Client connections turned away because of the limit.",
              s.connections.rejected);
  out.Counter("connections_yielded_total", "Times a connection had to let others go first.",
              totals[Counter::kConnYields]);
  out.Counter("connections_listener_disabled_total",
              "Times accepting was paused because of the limit.", s.connections.listener_disabled);
  out.Gauge("accepting_connections", "Whether new connections are accepted now.",
            s.connections.accepting ? 1 : 0);
}

void AddItems(const ServerSnapshot& s, const CounterTotals& totals, FamilyList& out) {
  const store::StoreStats& store = s.store;
  out.Gauge("current_bytes", "Bytes used by the items stored now.", store.item_bytes);
  out.Gauge("limit_bytes", "Bytes this server may use for its cache.", store.memory_limit_bytes);
  out.Gauge("malloced_bytes", "Bytes of memory taken for items.", store.page_bytes);
  out.Gauge("current_items", "Items stored now.", store.items);
  out.Counter("items_total", "Items stored since the server started.", store.total_items);
  out.Counter("items_evicted_total", "Valid items removed to make room for others.",
              store.evicted_items);
  out.Counter("items_reclaimed_total", "Items stored in the room of an expired one.",
              store.reclaimed_items);
  out.Counter("item_too_large_total", "Items refused because they exceed the item size limit.",
              totals[Counter::kStoreTooLarge]);
  out.Counter("item_no_memory_total", "Items refused because no memory could be freed.",
              totals[Counter::kStoreNoMemory]);
  out.Counter("direct_reclaims_total", "Times a worker had to free memory by itself.", kNone);
  out.Begin(prometheus::MetricType::Counter, "slab_items_outofmemory_total",
            "Items refused because no memory could be freed, by class; there is one.");
  out.Series({{"slab", "1"}}, totals[Counter::kStoreNoMemory]);
}

void AddCommands(const CounterTotals& totals, std::uint64_t plain_sets, FamilyList& out) {
  struct Row {
    const char* command;
    Counter hits;
    Counter misses;
  };
  constexpr Row kRows[] = {{"get", Counter::kGetHits, Counter::kGetMisses},
                           {"delete", Counter::kDeleteHits, Counter::kDeleteMisses},
                           {"incr", Counter::kIncrHits, Counter::kIncrMisses},
                           {"decr", Counter::kDecrHits, Counter::kDecrMisses},
                           {"cas", Counter::kCasHits, Counter::kCasMisses},
                           {"touch", Counter::kTouchHits, Counter::kTouchMisses}};
  out.Begin(prometheus::MetricType::Counter, "commands_total",
            "Requests by command and what became of them.");
  for (const Row& row : kRows) {
    out.Series({{"command", row.command}, {"status", "hit"}}, totals[row.hits]);
    out.Series({{"command", row.command}, {"status", "miss"}}, totals[row.misses]);
  }
  out.Series({{"command", "cas"}, {"status", "badval"}}, totals[Counter::kCasBadval]);
  out.Series({{"command", "flush"}, {"status", "hit"}}, totals[Counter::kCmdFlush]);
  out.Series({{"command", "set"}, {"status", "hit"}}, plain_sets);
}

void AddLruCrawler(const LruSettings& lru, const store::StoreStats& store, FamilyList& out) {
  if (lru.enabled) {
    out.Gauge("lru_crawler_enabled", "Whether the setting lru_crawler is on.", 1);
    out.Gauge("lru_crawler_sleep", "Setting lru_crawler_sleep, in microseconds.", lru.sleep_us);
    out.Gauge("lru_crawler_to_crawl", "Setting lru_crawler_tocrawl, in items.", lru.to_crawl);
    out.Gauge("lru_crawler_maintainer_thread", "Whether the setting lru_maintainer_thread is on.",
              lru.maintainer ? 1 : 0);
    out.Gauge("lru_crawler_hot_percent", "Setting hot_lru_pct.", lru.hot_percent);
    out.Gauge("lru_crawler_warm_percent", "Setting warm_lru_pct.", lru.warm_percent);
    out.Gauge("lru_crawler_hot_max_factor", "Setting hot_max_factor.", lru.hot_max_factor);
    out.Gauge("lru_crawler_warm_max_factor", "Setting warm_max_factor.", lru.warm_max_factor);
  }
  out.Counter("lru_crawler_starts_total", "Sweeps for expired and flushed items.", store.sweeps);
  out.Counter("lru_crawler_reclaimed_total", "Items that sweeps removed.",
              store.expired_in_sweep_items);
  out.Counter("lru_crawler_items_checked_total", "Items that sweeps looked at.", store.swept_items);
  out.Counter("lru_crawler_moves_to_cold_total", "Items moved to the cold LRU list; none here.",
              kNone);
  out.Counter("lru_crawler_moves_to_warm_total", "Items moved to the warm LRU list; none here.",
              kNone);
  out.Counter("lru_crawler_moves_within_lru_total", "Items moved within their LRU list; none here.",
              kNone);
}

void AddProcess(const ProcessStats& process, FamilyList& out) {
  out.Counter("process_cpu_seconds_total",
              "CPU time spent in user mode and in the kernel, in seconds.",
              process.user_cpu_seconds + process.system_cpu_seconds);
  out.Gauge("process_max_fds", "File descriptors this process may open.", process.max_fds);
  out.Gauge("process_open_fds", "File descriptors open now.", process.open_fds);
  out.Gauge("process_resident_memory_bytes", "Resident memory of this process.",
            process.resident_memory_bytes);
  out.Gauge("process_start_time_seconds", "When this process started, as UNIX time.",
            process.start_time_seconds);
  out.Gauge("process_virtual_memory_bytes", "Address space of this process.",
            process.virtual_memory_bytes);
}

}  // namespace

std::uint64_t PlainSets(const CounterTotals& totals) {
  const std::uint64_t by_cas =
      totals[Counter::kCasHits] + totals[Counter::kCasMisses] + totals[Counter::kCasBadval];
  const std::uint64_t all = totals[Counter::kCmdSet];
  return all > by_cas ? all - by_cas : 0;
}

std::vector<prometheus::MetricFamily> MemcachedFamilies(const ServerSnapshot& snapshot,
                                                        const CounterTotals& totals,
                                                        std::uint64_t plain_sets) {
  FamilyList out("memcached_");
  AddServer(snapshot, out);
  AddConnections(snapshot, totals, out);
  AddItems(snapshot, totals, out);
  AddCommands(totals, plain_sets, out);
  AddLruCrawler(snapshot.lru, snapshot.store, out);
  AddProcess(snapshot.process, out);
  return out.Take();
}

}  // namespace podcache::metrics
