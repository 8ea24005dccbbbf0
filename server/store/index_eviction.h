// A large shrink: evicts by walking the index, not segment by segment.
//
// First all entries are counted by segment and use; that says which of the oldest segments must go
// and how often an item must have been used to be kept, so that the most used ones stay. Then every
// partition is walked, bucket after bucket, for entries that lie in those segments: they are
// evicted, or moved to the head of the line for what is kept; each array is made smaller once, and
// the segments are free all at the end. Where keeping needs more room than is free, this happens in
// rounds, each with the room that the one before has gained.
//
// Most of the time would go into waiting for records. In segments where nothing expires and nothing
// is large, what is evicted is not read: its entry says enough, and its bytes are counted out
// with the segment. (Whether it was ever fetched is then told by its uses.) The other records of
// some buckets are asked for together, so that the cache misses overlap.
//
// Between steps anybody may use the store, and others may reclaim other segments.
//
// Threads: any; one at a time takes a step (mutex). Lock order: this mutex, then the reclaimer's,
// then a partition's lock, then the log's mutex.
#pragma once

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
  // There is nothing to shrink any more: one step of leaving the rest undone. False when that is
  // done.
  bool AbandonStep() noexcept EXCLUDES(mutex_);
  // All at once: segments may be left that seem to hold more than they do, until they are
  // reclaimed.
  void Abandon() noexcept EXCLUDES(mutex_);

 private:
  enum class Phase : std::uint8_t { kIdle, kCounting, kEvicting, kFreeing, kLeaving };
  // What becomes of the entries that lie in a segment.
  enum class Taking : std::uint8_t {
    kNone,        // Not of this round.
    kPlainSmall,  // Nothing in it expires or is large: what is evicted need not be read. Of the
    kPlainMain,   // small or the main line.
    kRead,
  };

  std::int64_t SegmentsToFree(const ShrinkTask& task) const noexcept;
  bool Begin(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool CountSome(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool MakePlan(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool TakeRound(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  bool EvictSome(std::uint32_t now) noexcept REQUIRES(mutex_);
  void EvictFrom(Partition& partition, std::uint32_t now) noexcept REQUIRES(mutex_);
  void EvictFrom(Partition& partition, BucketArray array, std::uint32_t first,
                 Moment moment) noexcept REQUIRES(partition.lock, mutex_);
  void Settle(Partition& partition, Slot& slot, Moment moment) noexcept
      REQUIRES(partition.lock, mutex_);
  void EvictUnread(Partition& partition, Slot& slot, Line line) noexcept
      REQUIRES(partition.lock, mutex_);
  bool Keeps(const Found& found) const noexcept REQUIRES(mutex_);
  void Keep(Partition& partition, Found& found, Moment moment) noexcept
      REQUIRES(partition.lock, mutex_);
  void Evict(Partition& partition, const Found& found, std::uint32_t now) noexcept
      REQUIRES(partition.lock, mutex_);
  void EndWalk() noexcept REQUIRES(mutex_);
  bool FreeSome(const ShrinkTask& task) noexcept REQUIRES(mutex_);
  void Leave() noexcept REQUIRES(mutex_);
  bool LeaveOne() noexcept REQUIRES(mutex_);
  void EndLocked() noexcept REQUIRES(mutex_);

  Taking TakingOf(Location location) const noexcept REQUIRES(mutex_) {
    const std::uint32_t segment = table_.log().SegmentOf(location);
    return segment < taken_.size() ? taken_[segment] : Taking::kNone;
  }
  bool IsTaken(Location location) const noexcept REQUIRES(mutex_) {
    return TakingOf(location) != Taking::kNone;
  }
  static bool IsPlain(Taking taking) noexcept {
    return taking == Taking::kPlainSmall || taking == Taking::kPlainMain;
  }
  // Evicted without being read.
  bool GoesUnread(Slot::Word word, Taking taking) const noexcept REQUIRES(mutex_) {
    return IsPlain(taking) && Slot::FrequencyOf(word) < plan_.least_uses();
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
  std::vector<Taking> taken_ GUARDED_BY(mutex_);  // By segment.
  std::vector<std::uint32_t> round_ GUARDED_BY(mutex_);
  std::size_t next_in_round_ GUARDED_BY(mutex_) = 0;
  std::size_t dead_in_round_ GUARDED_BY(mutex_) = 0;  // The first ones, once all were walked.
  std::size_t freed_in_round_ GUARDED_BY(mutex_) = 0;
  // Of the record that found no room in the writer's chunk; 0 if none.
  std::size_t needed_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint32_t needed_epoch_ GUARDED_BY(mutex_) = 0;
  bool may_keep_ GUARDED_BY(mutex_) = true;  // There is room.
  Location last_unread_ GUARDED_BY(mutex_) = kNowhere;
  ReclaimTally tally_ GUARDED_BY(mutex_);
};

}  // namespace podcache::store
