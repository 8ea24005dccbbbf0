// Which segments a large shrink empties, and what of them it keeps.
//
// Made from a count of all entries by segment and use. Oldest first, in the proportions of the
// policy, until enough comes free; of what lies there, items with at least `least_uses` uses are
// kept: as few as possible are asked for, so long as there is room for what is kept.
//
// Threads: none of its own; one owner. The two that allocate throw bad_alloc.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "server/store/eviction_policy.h"
#include "server/store/index.h"
#include "server/store/segment_log.h"

namespace podcache::store {

class ShrinkPlan {
 public:
  struct Victim {
    std::uint32_t segment = kNoSegment;
    std::uint32_t items = 0;
    std::uint32_t kept_items = 0;
    std::uint32_t kept_bytes = 0;  // Items of one segment are taken to be equally large.
  };
  struct Goal {
    std::uint64_t bytes = 0;            // To come free, those of the index included.
    std::uint64_t most_kept_bytes = 0;  // By copying.
  };

  void StartCounting(std::uint32_t segments);
  void Count(const Partition& partition, const SegmentLog& log) noexcept REQUIRES(partition.lock);
  // False if there is nothing to be emptied.
  bool Make(const SegmentLog& log, const Index& index, EvictionPolicy policy, const Goal& goal);
  void Clear() noexcept;

  // Above what is counted: nothing is kept.
  unsigned least_uses() const noexcept { return least_uses_; }
  // Takes victims off the plan, as many as keep no more than `room_bytes`, but at least one.
  std::span<const Victim> TakeRound(std::uint64_t room_bytes) noexcept;

 private:
  static constexpr unsigned kUses = Slot::kMaxFrequency + 1;
  using Counts = std::array<std::uint32_t, kUses>;
  // Segments that wait for eviction, oldest first.
  using Lines = std::array<std::vector<std::uint32_t>, kLines>;

  Lines SealedOldestFirst(const SegmentLog& log) const;
  Victim Judge(const SegmentLog& log, std::uint32_t segment) const noexcept;
  bool Choose(const SegmentLog& log, const Index& index, EvictionPolicy policy, const Goal& goal,
              const Lines& lines);

  std::vector<Counts> counts_;  // By segment.
  std::uint64_t items_ = 0;
  unsigned least_uses_ = kUses;
  std::vector<Victim> victims_;
  std::size_t next_victim_ = 0;
};

}  // namespace podcache::store
