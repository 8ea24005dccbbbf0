// What a worker tells about itself while it runs.
//
// Threads: written by the worker alone (`connections` by whoever gives it one), read by any;
// relaxed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace podcache::net {

// Upper bounds of the turn histogram (podcache_event_loop_stall_seconds), in microseconds; one more
// bucket is above all.
inline constexpr std::array<std::uint32_t, 11> kTurnBucketsUs = {
    50, 100, 250, 500, 1000, 2500, 5000, 10'000, 25'000, 100'000, 1'000'000};

struct TurnHistogram {
  std::array<std::uint64_t, kTurnBucketsUs.size() + 1> buckets{};
  std::uint64_t sum_ns = 0;
};

struct WorkerStats {
  using Cell = std::atomic<std::uint64_t>;
  static void Add(Cell& cell, std::uint64_t n) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
  void AddTurn(std::uint64_t ns) noexcept {
    std::size_t bucket = 0;
    while (bucket < kTurnBucketsUs.size() && ns > kTurnBucketsUs[bucket] * std::uint64_t{1000}) {
      ++bucket;
    }
    Add(turn_buckets[bucket], 1);
    Add(busy_ns, ns);
  }
  void AddTo(TurnHistogram& histogram) const noexcept {
    for (std::size_t i = 0; i < turn_buckets.size(); ++i) {
      histogram.buckets[i] += turn_buckets[i].load(std::memory_order_relaxed);
    }
    histogram.sum_ns += busy_ns.load(std::memory_order_relaxed);
  }

  Cell connections{0};
  Cell throttled{0};
  Cell idle_kicks{0};
  Cell refused_tails{0};  // Connections closed because half a request could not be kept.
  // Partial requests kept, and unsent output, of this worker's connections.
  Cell tails{0};
  Cell tail_bytes{0};
  Cell outputs{0};
  Cell output_bytes{0};
  Cell busy_ns{0};
  std::array<Cell, kTurnBucketsUs.size() + 1> turn_buckets{};
};

}  // namespace podcache::net
