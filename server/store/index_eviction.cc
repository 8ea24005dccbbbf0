#include "server/store/index_eviction.h"

#include <algorithm>
#include <array>
#include <functional>
#include <new>
#include <span>

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
// Of the room that is free, so much is planned with: how large what is kept is, is an estimate.
constexpr std::uint64_t kRoomUsedPercent = 85;
// Of what remains, so much may have been copied.
constexpr std::uint64_t kMostKeptPercent = 75;

// Partitions of a step.
constexpr std::size_t kCountedPerStep = 64;
constexpr std::size_t kWalkedPerStep = 8;
// Buckets for which a partition is locked at a time.
constexpr std::uint32_t kBucketsLocked = 16;
// Of a record that is to be read, so many cache lines are asked for.
constexpr std::size_t kFetchedLines = 3;
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
  const bool one_by_one = !reclaimer_.evictions() || (observer != nullptr && observer->Wants());
  // Or there may be less to do now.
  if (one_by_one || task.target_bytes > target_bytes_) Leave();
  if (LeaveOne()) return true;
  if (one_by_one) return false;
  switch (phase_) {
    case Phase::kIdle:
    case Phase::kLeaving:
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
    taken_.assign(table_.log().used_id_limit(), Taking::kNone);
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
  SegmentLog& log = table_.log();
  const std::uint32_t free =
      task.free_segments - std::min(task.free_segments, task.reserve_segments);
  const std::uint64_t room = free * log.segment_bytes() / 100 * kRoomUsedPercent;
  try {
    do {
      const auto victims = plan_.TakeRound(room);
      if (victims.empty()) return false;
      round_.clear();
      for (const ShrinkPlan::Victim& victim : victims) round_.push_back(victim.segment);
      reclaimer_.Take(round_);
    } while (round_.empty());
  } catch (const std::bad_alloc&) {
    return false;
  }
  const std::uint32_t epoch = table_.flush().epoch();
  for (const std::uint32_t id : round_) {
    const Segment& segment = log.segment(id);
    const bool is_plain =
        !segment.holds_large.load(std::memory_order_relaxed) &&
        segment.earliest_exptime.load(std::memory_order_relaxed) == Segment::kNoExptime &&
        segment.flush_epoch.load(std::memory_order_relaxed) == epoch;
    const Taking plain = log.LineOf(id) == Line::kMain ? Taking::kPlainMain : Taking::kPlainSmall;
    taken_[id] = is_plain ? plain : Taking::kRead;
  }
  next_partition_ = 0;
  next_in_round_ = 0;
  phase_ = Phase::kEvicting;
  return true;
}

bool IndexEviction::EvictSome(std::uint32_t now) noexcept {
  Index& index = table_.index();
  const std::size_t end = std::min(next_partition_ + kWalkedPerStep, index.partition_count());
  writer_.Acquire();
  for (; next_partition_ < end; ++next_partition_) EvictFrom(index.partition(next_partition_), now);
  writer_.Release();
  tally_.TellTo(reclaimer_.counters(), EvictionCause::kShrink);
  if (next_partition_ < index.partition_count()) return true;
  EndWalk();
  return true;
}

void IndexEviction::EndWalk() noexcept {
  // Not of std::ranges: what that returns clang 14 cannot compile (presets fuzz and tidy).
  const auto has_pieces = [this](std::uint32_t id) NO_THREAD_SAFETY_ANALYSIS {
    return !IsPlain(taken_[id]) && table_.log().segment(id).live_bytes() != 0;
  };
  const auto living = std::partition(round_.begin(), round_.end(), std::not_fn(has_pieces));
  dead_in_round_ = static_cast<std::size_t>(living - round_.begin());
  // Who reads without a lock may have found an item in one of them before it went.
  table_.index().epochs().WaitForReaders();
  next_in_round_ = 0;
  freed_in_round_ = 0;
  phase_ = Phase::kFreeing;
}

// Bucket after bucket: an entry stays in its bucket until the array is replaced, then it begins
// anew with that.
void IndexEviction::EvictFrom(Partition& partition, std::uint32_t now) noexcept {
  std::uint64_t resizes = 0;
  for (std::uint32_t first = 0;;) {
    needed_bytes_ = 0;
    {
      SpinLockHolder lock(partition.lock);
      // Not by its address: another one may have come to lie where it was.
      if (partition.resizes.Read() != resizes) {
        resizes = partition.resizes.Read();
        first = 0;
      }
      const BucketArray array = partition.array();
      if (first >= array.count()) break;
      EvictFrom(partition, array, first, {now, table_.flush().epoch()});
    }
    may_keep_ = true;
    if (needed_bytes_ == 0) {
      first += kBucketsLocked;
    } else {
      // Once more, for what was left.
      may_keep_ = writer_.Refill(needed_bytes_, needed_epoch_, Claim::kMove);
    }
  }
  if (last_unread_ != kNowhere) {
    const std::uint64_t h = Record(table_.log().At(last_unread_)).Header();
    tally_.SetIdleSeconds(Record::IdleSecondsOf(h, now));
    last_unread_ = kNowhere;
  }
  SpinLockHolder lock(partition.lock);
  table_.index().ShrinkToFit(partition);
}

// What needs its record is asked for at once and settled last.
void IndexEviction::EvictFrom(Partition& partition, BucketArray array, std::uint32_t first,
                              Moment moment) noexcept {
  std::array<Slot*, kBucketsLocked * Bucket::kSlots> to_read;
  std::size_t count = 0;
  const std::uint32_t end = std::min(first + kBucketsLocked, array.count());
  for (std::uint32_t i = first; i < end; ++i) {
    for (Slot& slot : array[i].slots) {
      const Slot::Word word = slot.word();
      if (word == Slot::kEmpty) continue;
      const Location location = Slot::LocationOf(word);
      const Taking taking = TakingOf(location);
      if (taking == Taking::kNone) continue;
      if (GoesUnread(word, taking)) {
        EvictUnread(partition, slot, taking == Taking::kPlainMain ? Line::kMain : Line::kSmall);
      } else {
        // Most items are copied whole.
        for (std::size_t line = 0; line < kFetchedLines; ++line)
          __builtin_prefetch(table_.log().At(location) + line * sizeof(Bucket));
        to_read[count++] = &slot;
      }
    }
  }
  for (Slot* const slot : std::span(to_read).first(count)) Settle(partition, *slot, moment);
}

void IndexEviction::Settle(Partition& partition, Slot& slot, Moment moment) noexcept {
  Found found = table_.Look(slot, moment);
  if (!found.live()) {
    if (found.life == Life::kExpired) tally_.AddExpired();
    table_.CountReclaimed(partition, found);
    table_.RemoveOnly(partition, found);
  } else if (may_keep_ && Keeps(found)) {
    if (needed_bytes_ == 0) Keep(partition, found, moment);
  } else {
    Evict(partition, found, moment.now);
  }
}

// A large item goes with its value, wherever its own record has come to lie.
bool IndexEviction::Keeps(const Found& found) const noexcept {
  return found.slot->frequency() >= plan_.least_uses() ||
         (Record::KindOf(found.header) == RecordKind::kLarge &&
          !IsTaken(found.record.Piece(found.header, 0).location));
}

void IndexEviction::Keep(Partition& partition, Found& found, Moment moment) noexcept {
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
    const Line line = table_.log().LineOf(table_.log().SegmentOf(found.location));
    found.slot->SetFrequency(policy_.FrequencyAfter(line, uses));
    tally_.AddKept();
  }
  tally_.AddCopied(bytes);
  table_.Relocate(partition, found, fields, fresh);
}

void IndexEviction::Evict(Partition& partition, const Found& found, std::uint32_t now) noexcept {
  const Line line = table_.log().LineOf(table_.log().SegmentOf(found.location));
  const std::uint32_t tag = found.slot->tag();
  tally_.AddEvicted(table_, found, policy_.Keeps(found.slot->frequency()), now);
  table_.RemoveOnly(partition, found);
  if (policy_.LeavesGhost(line)) table_.index().AddGhost(partition, tag);
}

// What is in main was used; what is in the small line was, if its entry says so.
void IndexEviction::EvictUnread(Partition& partition, Slot& slot, Line line) noexcept {
  const Slot::Word word = slot.word();
  const unsigned uses = Slot::FrequencyOf(word);
  last_unread_ = Slot::LocationOf(word);
  tally_.AddEvictedUnread(line, line == Line::kMain || uses != 0, policy_.Keeps(uses));
  table_.RemoveUnread(partition, slot, line);
  if (policy_.LeavesGhost(line)) table_.index().AddGhost(partition, Slot::TagOf(word));
}

// Segments in which nothing lives any more are free. What still lies in others are pieces of large
// items, which the index does not point to.
bool IndexEviction::FreeSome(const ShrinkTask& task) noexcept {
  for (std::size_t n = 0; n < kFreedPerStep && next_in_round_ < round_.size(); ++n) {
    const std::uint32_t id = round_[next_in_round_];
    taken_[id] = Taking::kNone;
    if (next_in_round_++ < dead_in_round_) {
      reclaimer_.Retire(id);
      ++freed_in_round_;
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

bool IndexEviction::AbandonStep() noexcept {
  if (!active_.load(std::memory_order_relaxed)) return false;
  MutexLock lock(mutex_);
  Leave();
  return LeaveOne();
}

void IndexEviction::Abandon() noexcept {
  if (!active_.load(std::memory_order_relaxed)) return;
  MutexLock lock(mutex_);
  for (std::size_t i = next_in_round_; i < round_.size(); ++i) table_.log().PutBack(round_[i]);
  EndLocked();
}

void IndexEviction::Leave() noexcept {
  if (phase_ == Phase::kIdle || phase_ == Phase::kLeaving) return;
  refused_generation_ = UINT64_MAX;
  phase_ = Phase::kLeaving;
}

// False when nothing is left to be put back.
bool IndexEviction::LeaveOne() noexcept {
  if (phase_ != Phase::kLeaving) return false;
  if (next_in_round_ < round_.size()) {
    const std::uint32_t id = round_[next_in_round_++];
    if (IsPlain(taken_[id])) {
      reclaimer_.PutBack(id);
    } else {
      table_.log().PutBack(id);
    }
    return true;
  }
  EndLocked();
  return false;
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
