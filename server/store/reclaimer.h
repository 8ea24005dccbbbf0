// Makes free segments out of full ones, and removes what has expired or was flushed.
//
// A mostly dead segment is compacted: what lives moves into another that takes its place in its
// line, from the newer half of that to the head. Otherwise the oldest of a line is emptied: items
// that the policy keeps are copied to the head of the line for that, the rest is evicted. When
// popularity shifts at a stroke, main is drained first (reclaimer_shift.cc).
//
// Threads: any; one at a time reclaims (mutex). Lock order: this mutex, then a partition's lock,
// then the log's mutex. Nobody may come here while holding a partition's lock.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "common/base/mutex.h"
#include "server/store/eviction_observer.h"
#include "server/store/eviction_policy.h"
#include "server/store/item_table.h"
#include "server/store/key_hasher.h"
#include "server/store/log_writer.h"
#include "server/store/reclaim_counters.h"
#include "server/store/shift_detector.h"

namespace podcache::store {

enum class ReclaimReason : std::uint8_t {
  kCapacity,    // Ahead of need: a long run of used items is kept whole, within limits.
  kUrgent,      // A writer waits: each segment must yield something.
  kShrink,      // Every used item survives, however many there are.
  kShrinkFast,  // As long as that goes on too long.
};

class Reclaimer {
 public:
  // `observer` may be null.
  Reclaimer(ItemTable& table, const KeyHasher& hasher, EvictionPolicy policy, bool evictions,
            EvictionObserver* observer);

  // Empties one segment. False when there is none that may be emptied. `now`: seconds.
  bool ReclaimOne(ReclaimReason reason, std::uint32_t now) noexcept EXCLUDES(mutex_);
  // Keeps those of the segments for the caller that may be reclaimed now, and takes the others off
  // the list: nobody else walks through them any more.
  void Take(std::vector<std::uint32_t>& segments) noexcept EXCLUDES(mutex_);
  // Empties a segment that the caller has taken: for what has not gone otherwise.
  bool ReclaimTaken(std::uint32_t segment, ReclaimReason reason, std::uint32_t now) noexcept
      EXCLUDES(mutex_);
  // Removes expired and flushed items from one segment that has some; false at the end of a round
  // over all segments.
  bool SweepOne(std::uint32_t now) noexcept EXCLUDES(mutex_);

  // The caller has taken the segment, and nothing in it can be found any more.
  void Retire(std::uint32_t segment) noexcept;
  // The caller has taken the segment and removed some of its items unread: those are counted out,
  // the segment stays.
  void PutBack(std::uint32_t segment) noexcept;

  // For how long the next item to be evicted has not been used; 0 while nothing waits for that.
  std::uint32_t NextIdleSeconds(std::uint32_t now) noexcept EXCLUDES(mutex_);

  const ReclaimCounters& counters() const noexcept { return counters_; }
  ReclaimCounters& counters() noexcept { return counters_; }
  // Who has to be told of evictions.
  const EvictionObserver* observer() const noexcept { return observer_; }
  bool evictions() const noexcept { return evictions_; }

 private:
  enum class Verdict : std::uint8_t { kGone, kMoved, kNoRoom };
  // What is being done to the victim.
  struct Pass {
    std::uint32_t segment = kNoSegment;
    Line line = Line::kSmall;
    std::uint32_t now = 0;
    bool compacting = false;
    bool keep_place = false;
    bool shrinking = false;
    bool draining = false;
    std::size_t copied = 0;  // Into the head or by compaction.
    std::size_t copy_limit = 0;
    LogWriter* writer = nullptr;  // Of what moves.
    ReclaimTally tally;
    // What was evicted last, for the observer; its key is kept here.
    EvictedItem evicted;
    char evicted_key[kMaxKeyBytes];
    bool tell = false;
  };

  // Of main, since popularity shifted.
  struct Drain {
    bool on = false;
    std::uint32_t until = 0;         // The last segment of main that was opened before.
    std::uint32_t first_opened = 0;  // Segments of the small line opened by then.
    double kept_share = 0;           // Of what was drained lately.
  };

  // reclaimer_shift.cc
  OldestChoice Choice() const noexcept REQUIRES(mutex_);
  void WatchPopularity(std::uint32_t now) noexcept REQUIRES(mutex_);
  bool LookAtYoung(std::uint32_t segment, std::uint32_t all) noexcept REQUIRES(mutex_);
  void ForgetUses(std::uint32_t segment, std::uint32_t now) noexcept;
  bool IsDrained(const Victim& victim) const noexcept REQUIRES(mutex_);
  void NoteDrained(std::size_t kept_bytes, std::size_t live_bytes) noexcept REQUIRES(mutex_);
  void EndDrain(bool refuted) noexcept REQUIRES(mutex_);

  std::size_t CopyLimit(Line line, ReclaimReason reason, std::size_t live_bytes) const noexcept
      REQUIRES(mutex_);
  void SettleCredit(const Pass& pass, std::size_t live_bytes) noexcept REQUIRES(mutex_);
  bool Reclaim(const Victim& victim, ReclaimReason reason, std::uint32_t now) noexcept
      REQUIRES(mutex_);
  bool Empty(Pass& pass) noexcept REQUIRES(mutex_);
  std::uint32_t FetchAhead(std::uint32_t segment, std::uint32_t offset,
                           std::uint32_t tail) noexcept;
  bool Settle(Pass& pass, Location location, Record record, std::uint64_t h) noexcept
      REQUIRES(mutex_);
  Verdict Judge(Pass& pass, Location location, Record record, std::uint64_t h, bool may_keep,
                std::size_t& needed, std::uint32_t& epoch) noexcept REQUIRES(mutex_);
  std::optional<std::uint32_t> IdleIfNext(Location location, Record record, std::uint64_t h,
                                          std::uint32_t now) noexcept;
  LogWriter& WriterFor(const Pass& pass) noexcept REQUIRES(mutex_);
  // Whether the record of a large item goes along with its value, which lies behind.
  bool PrecedesItsValue(const Found& found) const noexcept;
  void CountUnread(std::uint32_t segment, std::size_t live_bytes) noexcept;
  unsigned FrequencyAfter(const Pass& pass, const Found& found) const noexcept;
  bool Keeps(const Pass& pass, const Found& found, std::size_t bytes) const noexcept;
  void Evict(Pass& pass, Partition& partition, const Found& found) noexcept
      REQUIRES(partition.lock);
  void Describe(Pass& pass, const Found& found) noexcept;
  // What lies dead is used again before fresh memory is.
  void RetireDead() noexcept REQUIRES(mutex_);
  void SweepRecord(Location location, Record record, std::uint64_t h, std::uint32_t now) noexcept;

  ItemTable& table_;
  const KeyHasher& hasher_;
  const EvictionPolicy policy_;
  const bool evictions_;
  EvictionObserver* const observer_;
  ReclaimCounters counters_;
  Mutex mutex_;
  LogWriter head_writer_ GUARDED_BY(mutex_);
  LogWriter main_writer_ GUARDED_BY(mutex_);
  LogWriter compaction_writer_ GUARDED_BY(mutex_);
  LogWriter main_compaction_writer_ GUARDED_BY(mutex_);
  // What earlier segments kept less than they might have.
  std::size_t credit_bytes_ GUARDED_BY(mutex_) = 0;
  ShiftDetector shift_detector_ GUARDED_BY(mutex_);
  Drain drain_ GUARDED_BY(mutex_);
  std::uint32_t watched_opened_ GUARDED_BY(mutex_) = 0;
  std::uint32_t sweep_cursor_ GUARDED_BY(mutex_) = 1;
};

}  // namespace podcache::store
