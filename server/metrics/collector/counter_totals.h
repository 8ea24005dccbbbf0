// The workers' counter blocks summed, read in one pass.
//
// Threads: Read may be called from any; the result is a value.
#pragma once

#include <array>
#include <cstdint>

#include "server/metrics/worker_counters.h"

namespace podcache::metrics {

struct CounterTotals {
  static CounterTotals Read(const CounterRegistry& registry);

  std::uint64_t operator[](Counter counter) const { return cells[WorkerCounters::Index(counter)]; }

  std::array<std::uint64_t, WorkerCounters::kCells> cells{};
  std::array<std::array<std::uint64_t, kDurationBucketsNs.size() + 1>, WorkerCounters::kClasses>
      duration_buckets{};
  std::array<std::uint64_t, WorkerCounters::kClasses> duration_sum_ns{};
};

}  // namespace podcache::metrics
