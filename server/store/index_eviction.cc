#include "server/store/index_eviction.h"

#include <algorithm>
#include <new>

namespace podcache::store {
namespace {

// Below this part of all segments, and this number, a shrink goes segment by segment: the walk over
// the index would cost more.
constexpr std::int64_t kLeastPart = 32;
constexpr std::int64_t kLeastSegments = 8;
// To begin with, so many of all segments must be free, to have room for what is kept; as a rule
// they are, else they are emptied one by one.
constexpr std::int64_t kRoomPart = 256;
constexpr std::int64_t kLeastRoom = 2;
// Of what remains, so much may have been copied.
constexpr std::uint64_t kMostKeptPercent = 75;

// Partitions of a step.
constexpr std::size_t kCountedPerStep = 64;
constexpr std::size_t kWalkedPerStep = 8;
// Buckets for which a partition is locked at a time, while the records of the next ones are
// fetched.
constexpr std::uint32_t kBucketsLocked = 8;
// Segments given back in a step.
constexpr std::size_t kFreedPerStep = 64;

}  // namespace

IndexEviction::IndexEviction(ItemTable& table, const KeyHasher& hasher, EvictionPolicy policy,
                             Reclaimer& reclaimer, memory::AllocationGate& gate)
    : table_(table),
      hasher_(hasher),
      policy_(policy),
      reclaimer_(reclaimer),
      gate_(gate),
      writer_(table.log(), policy.kept_line() == Line::kMain ? Stream::kMain : Stream::kHead) {}

// Those that are free already count as freed, but the reserve is to be left.
std::int64_t IndexEviction::SegmentsToFree(const ShrinkTask& task) const noexcept {
  return static_cast<std::int64_t>(task.excess_bytes / table_.log().segment_bytes()) +
         task.reserve_segments - task.free_segments;
}

bool IndexEviction::Step(const ShrinkTask& task) noexcept {
  MutexLock lock(mutex_);
  // An observer is told of each item in turn: that is done segment by segment.
  const EvictionObserver* const observer = reclaimer_.observer();
  if (!reclaimer_.evictions() || (observer != nullptr && observer->Wants())) {
    AbandonLocked();
    return false;
  }
  // There may be less to do now.
  if (phase_ != Phase::kIdle && task.target_bytes > target_bytes_) AbandonLocked();
  switch (phase_) {
    case Phase::kIdle:
      return Begin(task);
    case Phase::kCounting:
      return CountSome(task);
    case Phase::kEvicting:
      return EvictSome(task.now);
    case Phase::kFreeing:
      return FreeSome(task);
  }
  return false;
}

bool IndexEviction::Begin(const ShrinkTask& task) noexcept {
  if (task.generation == refused_generation_) return false;
  const std::int64_t wanted = SegmentsToFree(task);
  const std::int64_t all = table_.log().sealed_segments();
  if (wanted < std::max(kLeastSegments, all / kLeastPart)) return false;
  const std::int64_t room = std::max(kLeastRoom, all / kRoomPart) + task.reserve_segments;
  if (task.free_segments < room) return reclaimer_.ReclaimOne(ReclaimReason::kShrinkFast, task.now);
  refused_generation_ = task.generation;  // Until it proves that it gets on.
  if (!gate_.Allow()) return false;
  try {
    plan_.StartCounting(table_.log().used_id_limit());
    taken_.assign(table_.log().used_id_limit(), 0);
  } catch (const std::bad_alloc&) {
    EndLocked();
    return false;
  }
  target_bytes_ = task.target_bytes;
  next_partition_ = 0;
  phase_ = Phase::kCounting;
  active_.store(true, std::memory_order_relaxed);
  return true;
}

bool IndexEviction::CountSome(const ShrinkTask& task) noexcept {
  Index& index = table_.index();
  const std::size_t end = std::min(next_partition_ + kCountedPerStep, index.partition_count());
  for (; next_partition_ < end; ++next_partition_) {
    Partition& partition = index.partition(next_partition_);
    SpinLockHolder lock(partition.lock);
    plan_.Count(partition, table_.log());
  }
  if (next_partition_ < index.partition_count()) return true;
  if (MakePlan(task) && TakeRound(task)) return true;
  EndLocked();
  return false;
}

bool IndexEviction::MakePlan(const ShrinkTask& task) noexcept {
  const std::int64_t wanted = SegmentsToFree(task);
  if (wanted <= 0) return false;
  const std::uint64_t bytes = static_cast<std::uint64_t>(wanted) * table_.log().segment_bytes();
  try {
    return plan_.Make(table_.log(), table_.index(), policy_,
                      {bytes, task.target_bytes / 100 * kMostKeptPercent});
  } catch (const std::bad_alloc&) {
    return false;
  }
}

// The next victims for whose kept items there is room. False at the end of the plan.
bool IndexEviction::TakeRound(const ShrinkTask& task) noexcept {
  const std::uint32_t room =
      task.free_segments - std::min(task.free_segments, task.reserve_segments);
  try {
    do {
      const auto victims = plan_.TakeRound(std::uint64_t{room} * table_.log().segment_bytes());
      if (victims.empty()) return false;
      round_.clear();
      for (const ShrinkPlan::Victim& victim : victims) round_.push_back(victim.segment);
      reclaimer_.Take(round_);
    } while (round_.empty());
  } catch (const std::bad_alloc&) {
    return false;
  }
  for (const std::uint32_t id : round_) taken_[id] = 1;
  next_partition_ = 0;
  out_of_room_ = false;
  phase_ = Phase::kEvicting;
  return true;
}

bool IndexEviction::EvictSome(std::uint32_t now) noexcept {
  Index& index = table_.index();
  const std::size_t end = std::min(next_partition_ + kWalkedPerStep, index.partition_count());
  writer_.Acquire();
  for (; next_partition_ < end; ++next_partition_) EvictFrom(index.partition(next_partition_), now);
  writer_.Release();
  TellCounters();
  if (next_partition_ < index.partition_count()) return true;
  EndWalk();
  return true;
}

void IndexEviction::EndWalk() noexcept {
  // Not of std::ranges: what that returns clang 14 cannot compile (presets fuzz and tidy).
  const auto living = std::partition(round_.begin(), round_.end(), [this](std::uint32_t id) {
    return table_.log().segment(id).live_bytes() == 0;
  });
  dead_in_round_ = static_cast<std::size_t>(living - round_.begin());
  // Who reads without a lock may have found an item in one of them before it went.
  table_.index().epochs().WaitForReaders();
  next_in_round_ = 0;
  freed_in_round_ = 0;
  phase_ = Phase::kFreeing;
}

// By ranges of tags: those stay the same when somebody makes the array larger in between.
void IndexEviction::EvictFrom(Partition& partition, std::uint32_t now) noexcept {
  const std::uint32_t buckets = std::max(1U, partition.array().count());
  const std::uint32_t tags = std::max(1U, Index::kTags / buckets * kBucketsLocked);
  for (std::uint32_t first = 0; first < Index::kTags;) {
    const std::uint32_t end = first + std::min(tags, Index::kTags - first);
    needed_bytes_ = 0;
    {
      SpinLockHolder lock(partition.lock);
      if (partition.items.Read() == 0) break;
      if (first == 0) Fetch(partition, 0, end);
      Fetch(partition, end, end + std::min(tags, Index::kTags - end));
      const Moment moment{now, table_.flush().epoch()};
      table_.index().ForEachTag(partition, first, end, [&](Slot& slot) NO_THREAD_SAFETY_ANALYSIS {
        if (IsTaken(slot.location())) Settle(partition, slot, moment);
      });
    }
    // Once more, for what was left, unless it has to stay.
    if (needed_bytes_ != 0) {
      if (writer_.Refill(needed_bytes_, needed_epoch_, Claim::kMove)) continue;
      out_of_room_ = true;
    }
    first = end;
  }
  SpinLockHolder lock(partition.lock);
  table_.index().ShrinkToFit(partition);
}

void IndexEviction::Fetch(Partition& partition, std::uint32_t first,
                          std::uint32_t end) const noexcept {
  table_.index().ForEachTag(partition, first, end, [&](Slot& slot) NO_THREAD_SAFETY_ANALYSIS {
    const Location location = slot.location();
    if (IsTaken(location)) __builtin_prefetch(table_.log().At(location));
  });
}

void IndexEviction::Settle(Partition& partition, Slot& slot, Moment moment) noexcept {
  Found found = table_.Look(slot, moment);
  if (!found.live()) {
    if (found.life == Life::kExpired) ++tally_.expired;
    table_.CountReclaimed(partition, found);
    table_.RemoveOnly(partition, found);
    return;
  }
  const Line line = table_.log().LineOf(table_.log().SegmentOf(found.location));
  if (Keeps(found)) {
    if (!out_of_room_ && needed_bytes_ == 0) Keep(partition, found, line, moment);
  } else {
    Evict(partition, found, line, moment.now);
  }
}

// A large item goes with its value, wherever its own record has come to lie.
bool IndexEviction::Keeps(const Found& found) const noexcept {
  return found.slot->frequency() >= plan_.least_uses() || reclaimer_.PrecedesItsValue(found) ||
         (Record::KindOf(found.header) == RecordKind::kLarge &&
          !IsTaken(found.record.Piece(found.header, 0).location));
}

void IndexEviction::Keep(Partition& partition, Found& found, Line line, Moment moment) noexcept {
  const ItemFields fields = table_.FieldsForCopy(found);
  const std::size_t bytes = RecordBytes(fields);
  writer_.Select(LifetimeOf(fields.exptime, moment.now));
  const Location fresh = writer_.TryAllocate(bytes, moment.epoch);
  if (fresh == kNowhere) {
    needed_bytes_ = bytes;
    needed_epoch_ = moment.epoch;
    return;
  }
  const unsigned uses = found.slot->frequency();
  if (uses >= plan_.least_uses()) {
    found.slot->SetFrequency(policy_.FrequencyAfter(line, uses));
    ++tally_.kept;
  }
  tally_.copied_bytes += bytes;
  table_.Relocate(partition, found, fields, fresh);
}

void IndexEviction::Evict(Partition& partition, const Found& found, Line line,
                          std::uint32_t now) noexcept {
  const auto i = static_cast<std::size_t>(line);
  ++tally_.evicted_items[i];
  tally_.evicted_bytes[i] += table_.ItemBytes(found);
  if (found.record.Exptime(found.header) != 0) ++tally_.with_exptime;
  if ((found.header & header::kFetched) == 0) ++tally_.unfetched;
  if (policy_.Keeps(found.slot->frequency())) ++tally_.active;
  tally_.idle_seconds = Record::IdleSecondsOf(found.header, now);
  table_.RemoveOnly(partition, found);
  if (policy_.LeavesGhost(line))
    table_.index().AddGhost(partition, hasher_.Hash(found.record.Key(found.header)));
}

void IndexEviction::TellCounters() noexcept {
  ReclaimCounters& counters = reclaimer_.counters();
  const auto add = [](std::atomic<std::uint64_t>& counter, std::uint64_t n) {
    counter.fetch_add(n, std::memory_order_relaxed);
  };
  std::uint64_t evicted = 0;
  for (std::size_t line = 0; line < kLines; ++line) {
    ReclaimCounters::Evicted& by_shrink =
        counters.evicted[line][static_cast<std::size_t>(EvictionCause::kShrink)];
    add(by_shrink.items, tally_.evicted_items[line]);
    add(by_shrink.bytes, tally_.evicted_bytes[line]);
    evicted += tally_.evicted_items[line];
  }
  add(counters.evicted_unfetched_items, tally_.unfetched);
  add(counters.evicted_active_items, tally_.active);
  add(counters.evicted_with_exptime_items, tally_.with_exptime);
  add(counters.kept_items, tally_.kept);
  add(counters.copied_bytes, tally_.copied_bytes);
  add(counters.expired_in_segment_items, tally_.expired);
  if (evicted != 0)
    counters.last_evicted_idle_seconds.store(tally_.idle_seconds, std::memory_order_relaxed);
  tally_ = {};
}

// Segments in which nothing lives any more are free. What still lies in others are
// pieces of large items, which the index does not point to, or there was no room for it: then it
// stays where it is, until the next plan.
bool IndexEviction::FreeSome(const ShrinkTask& task) noexcept {
  SegmentLog& log = table_.log();
  for (std::size_t n = 0; n < kFreedPerStep && next_in_round_ < round_.size(); ++n) {
    const std::uint32_t id = round_[next_in_round_];
    taken_[id] = 0;
    if (next_in_round_++ < dead_in_round_) {
      log.Retire(id);
      ++freed_in_round_;
    } else if (out_of_room_) {
      log.PutBack(id);
    } else {
      if (reclaimer_.ReclaimTaken(id, ReclaimReason::kShrink, task.now)) ++freed_in_round_;
      break;
    }
  }
  if (next_in_round_ < round_.size()) return true;
  round_.clear();
  if (freed_in_round_ > 0) refused_generation_ = UINT64_MAX;
  if (freed_in_round_ > 0 && TakeRound(task)) return true;
  EndLocked();
  return true;
}

void IndexEviction::Abandon() noexcept {
  if (!active_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  AbandonLocked();
}

void IndexEviction::AbandonLocked() noexcept {
  for (std::size_t i = next_in_round_; i < round_.size(); ++i) table_.log().PutBack(round_[i]);
  if (phase_ != Phase::kIdle) refused_generation_ = UINT64_MAX;
  EndLocked();
}

void IndexEviction::EndLocked() noexcept {
  phase_ = Phase::kIdle;
  active_.store(false, std::memory_order_relaxed);
  round_ = {};
  next_in_round_ = 0;
  taken_ = {};
  plan_.Clear();
}

}  // namespace podcache::store
