// A large shrink: evicts by walking the index, not segment by segment.
//
// First all entries are counted by segment and use; that says which of the oldest segments must go
// and how often an item must have been used to be kept, so that the most used ones stay. Then every
// partition is walked, bucket after bucket, for entries that lie in those segments: they are
// evicted, or moved to the head of the line for what is kept. The records are fetched ahead, so
// that the cache misses of some dozen entries overlap, each array is made smaller once, and the
// segments are free all at the end. Where keeping needs more room than is free, this happens in
// rounds, each with the room that the one before has gained.
//
// Between steps anybody may use the store, and others may reclaim other segments.
//
// Threads: any; one at a time takes a step (mutex). Lock order: this mutex, then the reclaimer's,
// then a partition's lock, then the log's mutex.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "common/base/mutex.h"
#include "server/memory/allocation_gate.h"
#include "server/store/reclaimer.h"
#include "server/store/shrink_plan.h"

namespace podcache::store {

// What a shrink under way has before it.
struct ShrinkTask {
  std::uint64_t generation = 0;  // Counts targets set.
  std::uint64_t target_bytes = 0;
  std::uint64_t excess_bytes = 0;      // Above the target, index and all.
  std::uint32_t free_segments = 0;     // Of that, already empty.
  std::uint32_t reserve_segments = 0;  // To be left free in the end, and for writers meanwhile.
  std::uint32_t now = 0;               // Seconds.
};

class IndexEviction {
 public:
  IndexEviction(ItemTable& table, const KeyHasher& hasher, EvictionPolicy policy,
                Reclaimer& reclaimer, memory::AllocationGate& gate);
  ~IndexEviction() { Abandon(); }

  // A bounded step. False when there is nothing to do in this way: the task is too small for it, or
  // it does not get on.
  bool Step(const ShrinkTask& task) noexcept EXCLUDES(mutex_);
  // The rest of what has been begun is left undone.
  void Abandon() noexcept EXCLUDES(mutex_);

 private:
  enum class Phase : std::uint8_t { kIdle, kCounting, kEvicting, kFreeing };
  // What became of entries, told to the shared counters from time to time.
  struct Tally {
    std::array<std::uint64_t, kLines> evicted_items{};
    std::array<std::uint64_t, kLines> evicted_bytes{};
    std::uint64_t unfetched = 0;
    std::uint64_t active = 0;
    std::uint64_t with_exptime = 0;
    std::uint64_t kept = 0;
    std::uint64_t expired = 0;
    std::uint64_t copied_bytes = 0;
    std::uint32_t idle_seconds = 0;  // Of the last one.
  };

  std::int64_t SegmentsToFree(const ShrinkTask& task) const noexcept;
  bool Begin(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool CountSome(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool MakePlan(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool TakeRound(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool EvictSome(std::uint32_t now) noexcept REQUIRES(mutex_);
  void EvictFrom(Partition& partition, std::uint32_t now) noexcept REQUIRES(mutex_);
  void Fetch(Partition& partition, std::uint32_t first, std::uint32_t end) const noexcept
      REQUIRES(partition.lock, mutex_);
  void Settle(Partition& partition, Slot& slot, Moment moment) noexcept
      REQUIRES(partition.lock, mutex_);
  bool Keeps(const Found& found) const noexcept REQUIRES(mutex_);
  void Keep(Partition& partition, Found& found, Line line, Moment moment) noexcept
      REQUIRES(partition.lock, mutex_);
  void Evict(Partition& partition, const Found& found, Line line, std::uint32_t now) noexcept
      REQUIRES(partition.lock, mutex_);
  void EndWalk() noexcept REQUIRES(mutex_);
  bool FreeSome(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  void TellCounters() noexcept REQUIRES(mutex_);
  void AbandonLocked() noexcept REQUIRES(mutex_);
  void EndLocked() noexcept REQUIRES(mutex_);

  bool IsTaken(Location location) const noexcept REQUIRES(mutex_) {
    const std::uint32_t segment = table_.log().SegmentOf(location);
    return segment < taken_.size() && taken_[segment] != 0;
  }

  ItemTable& table_;
  const KeyHasher& hasher_;
  const EvictionPolicy policy_;
  Reclaimer& reclaimer_;
  memory::AllocationGate& gate_;
  std::atomic<bool> active_{false};
  Mutex mutex_;
  LogWriter writer_ GUARDED_BY(mutex_);
  Phase phase_ GUARDED_BY(mutex_) = Phase::kIdle;
  std::size_t next_partition_ GUARDED_BY(mutex_) = 0;
  std::uint64_t target_bytes_ GUARDED_BY(mutex_) = 0;
  // The target for which this way has not got on, or not yet.
  std::uint64_t refused_generation_ GUARDED_BY(mutex_) = UINT64_MAX;
  ShrinkPlan plan_ GUARDED_BY(mutex_);
  // By segment: whether it is of this round.
  std::vector<std::uint8_t> taken_ GUARDED_BY(mutex_);
  std::vector<std::uint32_t> round_ GUARDED_BY(mutex_);
  std::size_t next_in_round_ GUARDED_BY(mutex_) = 0;
  std::size_t dead_in_round_ GUARDED_BY(mutex_) = 0;  // The first ones, once all were walked.
  std::size_t freed_in_round_ GUARDED_BY(mutex_) = 0;
  // Of the record that found no room in the writer's chunk; 0 if none.
  std::size_t needed_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint32_t needed_epoch_ GUARDED_BY(mutex_) = 0;
  bool out_of_room_ GUARDED_BY(mutex_) = false;
  Tally tally_ GUARDED_BY(mutex_);
};

}  // namespace podcache::store
