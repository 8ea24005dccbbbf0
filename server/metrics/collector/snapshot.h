// Everything a scrape shows that the workers' counters do not hold, at one moment. Filled by the
// composition root.
//
// Threads: a value. Filling it must stop no worker and take no store lock.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "common/process/process_stats.h"
#include "server/store/store.h"

namespace podcache::metrics {

// `buckets` has one more than `bounds`: what lies above all of them. Not cumulative. Empty buckets
// mean all zero.
struct HistogramData {
  std::vector<double> bounds;
  std::vector<std::uint64_t> buckets;
  double sum = 0;
};

struct BuildFacts {
  std::string version;  // Of Podcache.
  std::string revision;
  std::string arch;
  std::string protocol_version;  // What the command `version` says.
};

struct ConnectionFigures {
  std::uint64_t current = 0;
  std::uint64_t max = 0;
  std::uint64_t total = 0;
  std::uint64_t rejected = 0;
  std::uint64_t listener_disabled = 0;
  std::uint64_t throttled = 0;
  bool accepting = true;
};

// As `stats settings` shows them; `enabled` false leaves all of them out.
struct LruSettings {
  bool enabled = true;
  std::uint64_t sleep_us = 100;
  std::uint64_t to_crawl = 0;
  bool maintainer = true;
  std::uint64_t hot_percent = 20;
  std::uint64_t warm_percent = 40;
  double hot_max_factor = 0.2;
  double warm_max_factor = 2.0;
};

enum class Direction : std::uint8_t { kGrow, kShrink, kCount };
enum class ResizeOutcome : std::uint8_t { kDone, kFailed, kSuperseded, kCount };
inline constexpr auto kDirections = static_cast<std::size_t>(Direction::kCount);
inline constexpr auto kOutcomes = static_cast<std::size_t>(ResizeOutcome::kCount);

struct ResizeFigures {
  bool in_progress = false;
  std::array<std::array<std::uint64_t, kOutcomes>, kDirections>
      total{};  // By direction, then outcome.
  std::array<HistogramData, kDirections> duration_seconds;
  std::uint64_t pressure_shrinks = 0;
};

struct WorkerFigures {
  std::uint64_t connections = 0;
  double busy_seconds = 0;
  std::uint64_t commands = 0;
};

struct ThreadFigures {
  std::uint32_t running = 0;
  std::uint32_t target = 0;
  std::uint64_t resizes_done = 0;
  std::uint64_t resizes_failed = 0;
  std::vector<WorkerFigures> workers;  // Running ones, by number.
  HistogramData event_loop_stall_seconds;
  double oldest_reader_age_seconds = 0;
};

struct CgroupFigures {
  std::optional<std::uint64_t> memory_limit_bytes;
  std::optional<std::uint64_t> memory_usage_bytes;
  std::optional<double> cpu_quota_cores;
  double cpu_throttled_seconds = 0;
};

struct ServerSnapshot {
  BuildFacts build;
  ProcessStats process;
  double uptime_seconds = 0;
  double unix_time_seconds = 0;
  ConnectionFigures connections;
  LruSettings lru;
  CgroupFigures cgroup;
  // For memory_used_bytes: replies not yet sent and requests not yet complete; fixed memory of the
  // connections.
  std::uint64_t buffer_bytes = 0;
  std::uint64_t connection_bytes = 0;
  ResizeFigures resizes;
  ThreadFigures threads;
  store::StoreStats store;
};

using SnapshotSource = std::function<ServerSnapshot()>;

}  // namespace podcache::metrics
