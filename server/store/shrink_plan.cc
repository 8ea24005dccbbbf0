#include "server/store/shrink_plan.h"

#include <algorithm>

namespace podcache::store {

void ShrinkPlan::StartCounting(std::uint32_t segments) {
  Clear();
  counts_.assign(segments, Counts{});
}

void ShrinkPlan::Clear() noexcept {
  counts_ = {};
  victims_ = {};
  next_victim_ = 0;
  items_ = 0;
}

void ShrinkPlan::Count(const Partition& partition, const SegmentLog& log) noexcept {
  const BucketArray array = partition.array();
  for (std::uint32_t i = 0; i < array.count(); ++i) {
    for (const Slot& slot : array[i].slots) {
      const Slot::Word word = slot.word();
      if (word == Slot::kEmpty) continue;
      ++items_;
      const std::uint32_t segment = log.SegmentOf(Slot::LocationOf(word));
      // A younger one is of no interest.
      if (segment < counts_.size()) ++counts_[segment][Slot::FrequencyOf(word)];
    }
  }
}

bool ShrinkPlan::Make(const SegmentLog& log, const Index& index, EvictionPolicy policy,
                      const Goal& goal) {
  const Lines lines = SealedOldestFirst(log);
  victims_.reserve(lines[0].size() + lines[1].size());
  for (least_uses_ = policy.Keeps(1) ? 1 : kUses; least_uses_ < kUses; ++least_uses_) {
    if (Choose(log, index, policy, goal, lines)) break;
  }
  // Even the most used ones are too many: whatever is oldest goes.
  if (least_uses_ == kUses) Choose(log, index, policy, goal, lines);
  counts_ = {};
  return !victims_.empty();
}

auto ShrinkPlan::SealedOldestFirst(const SegmentLog& log) const -> Lines {
  Lines lines;
  for (std::uint32_t id = kNoSegment + 1; id < counts_.size(); ++id) {
    if (log.segment(id).state.load(std::memory_order_relaxed) == SegmentState::kSealed)
      lines[static_cast<std::size_t>(log.LineOf(id))].push_back(id);
  }
  for (auto& line : lines) {
    std::ranges::stable_sort(line, std::ranges::greater{},
                             [&](std::uint32_t id) { return log.OpenedSince(id); });
  }
  return lines;
}

auto ShrinkPlan::Judge(const SegmentLog& log, std::uint32_t segment) const noexcept -> Victim {
  const Counts& counts = counts_[segment];
  Victim victim{segment, 0, 0, 0};
  for (unsigned uses = 0; uses < kUses; ++uses) {
    victim.items += counts[uses];
    if (uses >= least_uses_) victim.kept_items += counts[uses];
  }
  if (victim.items == 0) return victim;
  victim.kept_bytes = static_cast<std::uint32_t>(std::uint64_t{log.segment(segment).live_bytes()} *
                                                 victim.kept_items / victim.items);
  return victim;
}

// False if that does not free enough, or keeps too much.
bool ShrinkPlan::Choose(const SegmentLog& log, const Index& index, EvictionPolicy policy,
                        const Goal& goal, const Lines& lines) {
  victims_.clear();
  std::array<std::size_t, kLines> taken{};
  const auto left = [&](Line line) {
    return lines[static_cast<std::size_t>(line)].size() - taken[static_cast<std::size_t>(line)];
  };
  const std::uint64_t index_bytes = index.BytesWith(items_);
  std::uint64_t items = items_;
  std::uint64_t kept = 0;
  std::uint64_t freed = 0;
  while (left(Line::kSmall) + left(Line::kMain) > 0) {
    // What is kept lies in one of the lines again.
    const std::uint64_t kept_segments = kept / log.segment_bytes();
    const std::uint64_t small =
        left(Line::kSmall) + (policy.kept_line() == Line::kSmall ? kept_segments : 0);
    const std::uint64_t all = left(Line::kSmall) + left(Line::kMain) + kept_segments;
    const bool from_small =
        left(Line::kMain) == 0 || (left(Line::kSmall) > 0 && policy.small_percent() != 0 &&
                                   small * 100 > all * policy.small_percent());
    const std::size_t line = from_small ? 0 : 1;
    const Victim victim = Judge(log, lines[line][taken[line]++]);
    victims_.push_back(victim);
    items -= std::min<std::uint64_t>(items, victim.items - victim.kept_items);
    kept += victim.kept_bytes;
    freed += log.segment_bytes() - victim.kept_bytes;
    if (kept > goal.most_kept_bytes) return false;
    if (freed + index_bytes - index.BytesWith(items) >= goal.bytes) return true;
  }
  return false;
}

auto ShrinkPlan::TakeRound(std::uint64_t room_bytes) noexcept -> std::span<const Victim> {
  const std::size_t first = next_victim_;
  std::uint64_t kept = 0;
  while (next_victim_ < victims_.size()) {
    kept += victims_[next_victim_].kept_bytes;
    if (kept > room_bytes && next_victim_ > first) break;
    ++next_victim_;
  }
  return std::span(victims_).subspan(first, next_victim_ - first);
}

}  // namespace podcache::store
