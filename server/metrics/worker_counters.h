// Counters of the data path: each thread writes only its own block, readers sum over all blocks.
//
// Threads: one writer per block; any thread may read. Relaxed loads and stores: no locked
// instruction per request. A block survives its thread: counters never fall when a worker is
// removed.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>

#include "common/base/mutex.h"

namespace podcache::metrics {

enum class Counter : std::uint8_t {
  kCmdGet,
  kCmdSet,
  kCmdFlush,
  kCmdTouch,
  kCmdMeta,
  kGetHits,
  kGetMisses,
  kGetExpired,
  kGetFlushed,
  kDeleteHits,
  kDeleteMisses,
  kIncrHits,
  kIncrMisses,
  kDecrHits,
  kDecrMisses,
  kCasHits,
  kCasMisses,
  kCasBadval,
  kTouchHits,
  kTouchMisses,
  kStoreTooLarge,
  kStoreNoMemory,
  kBytesRead,
  kBytesWritten,
  kConnYields,
  kProtocolErrors,
  kTextCommands,
  kBinaryCommands,
  kBinaryErrors,
  kConnectionHandoffs,
  kAuthCmds,
  kAuthErrors,
  kMetaErrors,
  kMetaCommands,
  // Leases, by what they were for.
  kVivifyWins,
  kRecacheWins,
  kStaleWins,
  kVivifyWaits,
  kRecacheWaits,
  kStaleWaits,
  kCount,
};

// Command classes of podcache_command_duration_seconds.
enum class CommandClass : std::uint8_t {
  kGet,
  kMultiget,
  kStore,
  kDelete,
  kArithmetic,
  kTouch,
  kAdmin,
  kCount
};

// Upper bounds of podcache_command_duration_seconds (metrics.md 4), in nanoseconds; one more bucket
// is above all.
inline constexpr std::array<std::uint64_t, 14> kDurationBucketsNs = {
    5'000,     10'000,    25'000,    50'000,     100'000,    250'000,     500'000,
    1'000'000, 2'500'000, 5'000'000, 10'000'000, 25'000'000, 100'000'000, 1'000'000'000};

struct alignas(128) WorkerCounters {
  using Cell = std::atomic<std::uint64_t>;
  static constexpr std::size_t kCells = static_cast<std::size_t>(Counter::kCount);
  static constexpr std::size_t kClasses = static_cast<std::size_t>(CommandClass::kCount);

  void Add(Counter counter, std::uint64_t n = 1) noexcept { Bump(cells[Index(counter)], n); }
  std::uint64_t Read(Counter counter) const noexcept {
    return cells[Index(counter)].load(std::memory_order_relaxed);
  }
  // n requests of one class took `duration_ns` each.
  void AddDuration(CommandClass command_class, std::uint64_t duration_ns,
                   std::uint64_t n = 1) noexcept {
    const auto row = static_cast<std::size_t>(command_class);
    std::size_t bucket = 0;
    while (bucket < kDurationBucketsNs.size() && duration_ns > kDurationBucketsNs[bucket]) ++bucket;
    Bump(duration_buckets[row][bucket], n);
    Bump(duration_sum_ns[row], duration_ns * n);
  }

  static std::size_t Index(Counter counter) noexcept { return static_cast<std::size_t>(counter); }
  static void Bump(Cell& cell, std::uint64_t n) noexcept {
    cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }

  std::array<Cell, kCells> cells{};
  std::array<std::array<Cell, kDurationBucketsNs.size() + 1>, kClasses> duration_buckets{};
  std::array<Cell, kClasses> duration_sum_ns{};
  Cell busy_ns{0};
  Cell commands{0};
};

// All blocks of a process. Blocks are never freed before the registry.
class CounterRegistry {
 public:
  // A removed worker's block is handed to the next one that asks: there are never more blocks than
  // threads at the peak.
  WorkerCounters& Acquire();
  void Release(WorkerCounters& block);

  std::uint64_t Sum(Counter counter) const;
  // `visit` is called with every block, also those of threads that are gone.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    MutexLock lock(mutex_);
    for (const WorkerCounters& block : blocks_) visit(block);
  }

  // `stats reset`: later reads through SumSinceReset start at zero; Sum never falls.
  void MarkReset();
  std::uint64_t SumSinceReset(Counter counter) const;

 private:
  mutable Mutex mutex_;
  std::deque<WorkerCounters> blocks_ GUARDED_BY(mutex_);
  std::deque<WorkerCounters*> free_ GUARDED_BY(mutex_);
  std::array<std::uint64_t, WorkerCounters::kCells> reset_base_ GUARDED_BY(mutex_){};
};

}  // namespace podcache::metrics
