#include "server/store/reclaimer.h"

#include <algorithm>
#include <cstring>

namespace podcache::store {
namespace {

// Of what lives in segments emptied to make room, on average at most this part is given a second
// chance: the rest is gained. Used items often lie side by side, so a segment may keep what the
// ones before it did not use of their share; so much is remembered as a part of the whole log.
constexpr std::size_t kMaxKeptPercent = 75;
constexpr std::size_t kCreditDivisor = 16;

// Records that are looked at to say how old the next victim is: a figure, not worth a whole
// segment.
constexpr int kMaxLooks = 1000;

// Records whose buckets are fetched together.
constexpr int kFetchedAhead = 16;

// Segments without anything living that a step of the sweep gives back.
constexpr int kMaxRetiredPerStep = 64;

// Calls visit(location, record, header) for every item's record in a segment, dead ones too.
template <class Visit>
void ForEachItem(const SegmentLog& log, std::uint32_t segment, Visit&& visit) {
  const std::uint32_t tail = log.segment(segment).tail.load(std::memory_order_relaxed);
  for (std::uint32_t offset = 0; offset < tail;) {
    const Location location = log.LocationOf(segment, offset);
    const Record record(log.At(location));
    const std::uint64_t h = record.Header();
    if (Record::KindOf(h) == RecordKind::kItem || Record::KindOf(h) == RecordKind::kLarge)
      visit(location, record, h);
    offset += static_cast<std::uint32_t>(Record::BytesOf(h));
  }
}

}  // namespace

Reclaimer::Reclaimer(ItemTable& table, const KeyHasher& hasher, EvictionPolicy policy,
                     bool evictions, EvictionObserver* observer)
    : table_(table),
      hasher_(hasher),
      policy_(policy),
      evictions_(evictions),
      observer_(observer),
      head_writer_(table.log(), Stream::kHead),
      main_writer_(table.log(), Stream::kMain),
      compaction_writer_(table.log(), Stream::kCompaction),
      main_compaction_writer_(table.log(), Stream::kMainCompaction) {}

bool Reclaimer::ReclaimOne(ReclaimReason reason, std::uint32_t now) noexcept {
  MutexLock lock(mutex_);
  SegmentLog& log = table_.log();
  if (evictions_ && policy_.WatchesPopularity()) WatchPopularity(now);
  const Victim victim = log.PickVictim(evictions_, Choice());
  if (Reclaim(victim, reason, now)) return true;
  // No room to move into: rather evict the oldest than what lives in the middle of the line.
  return evictions_ && victim.kind == VictimKind::kMostlyDead &&
         Reclaim(log.PickOldest(Choice()), reason, now);
}

void Reclaimer::Take(std::vector<std::uint32_t>& segments) noexcept {
  MutexLock lock(mutex_);
  std::erase_if(segments, [this](std::uint32_t id) { return !table_.log().Take(id); });
}

bool Reclaimer::ReclaimTaken(std::uint32_t segment, ReclaimReason reason,
                             std::uint32_t now) noexcept {
  MutexLock lock(mutex_);
  return Reclaim({VictimKind::kOldest, segment}, reason, now);
}

bool Reclaimer::Reclaim(const Victim& victim, ReclaimReason reason, std::uint32_t now) noexcept {
  if (victim.kind == VictimKind::kNone) return false;
  SegmentLog& log = table_.log();
  Pass pass;
  pass.segment = victim.segment;
  pass.line = log.LineOf(victim.segment);
  pass.now = now;
  pass.compacting = victim.kind == VictimKind::kMostlyDead;
  if (drain_.on && !pass.compacting) {
    pass.draining = IsDrained(victim);
    // Nothing of main is left from before.
    if (Choice().drain && !pass.draining) EndDrain(false);
  }
  pass.shrinking = reason == ReclaimReason::kShrink || reason == ReclaimReason::kShrinkFast;
  const std::size_t live = log.segment(victim.segment).live_bytes();
  pass.copy_limit = CopyLimit(pass.line, reason, live);
  // All that is compacted goes to one place in its line, near its old end: what is new must not.
  pass.keep_place = pass.compacting && !log.IsRecent(victim.segment);
  pass.writer = &WriterFor(pass);
  pass.writer->Acquire();
  const bool empty = Empty(pass);
  pass.writer->Release();
  pass.tally.AddCopied(pass.copied);
  pass.tally.TellTo(counters_, pass.shrinking ? EvictionCause::kShrink : EvictionCause::kCapacity);
  if (pass.draining) NoteDrained(pass.copied, live);
  if (!pass.compacting && !pass.shrinking && pass.copy_limit != SIZE_MAX) SettleCredit(pass, live);
  if (empty) {
    if (pass.compacting) counters_.compacted_segments.fetch_add(1, std::memory_order_relaxed);
    table_.index().epochs().WaitForReaders();
    Retire(victim.segment);
  } else {
    log.Abandon(victim.segment);
  }
  return empty;
}

void Reclaimer::Retire(std::uint32_t segment) noexcept {
  CountUnread(segment, 0);
  table_.log().Retire(segment);
}

void Reclaimer::PutBack(std::uint32_t segment) noexcept {
  SegmentLog& log = table_.log();
  std::size_t live_bytes = 0;
  ForEachItem(log, segment, [&](Location location, Record record, std::uint64_t h) {
    const std::uint64_t hash = hasher_.Hash(record.Key(h));
    Partition& partition = table_.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    // One that is removed after this leaves the segment with less than it says: nothing is free too
    // early.
    if (!table_.FindAt(partition, hash, location, {}).missing()) live_bytes += Record::BytesOf(h);
  });
  CountUnread(segment, live_bytes);
  log.PutBack(segment);
}

// Only a large shrink removes items unread.
void Reclaimer::CountUnread(std::uint32_t segment, std::size_t live_bytes) noexcept {
  const Line line = table_.log().LineOf(segment);
  const std::size_t bytes = table_.CountUnread(segment, live_bytes);
  if (bytes == 0) return;
  ReclaimTally tally;
  tally.AddEvictedBytes(line, bytes);
  tally.TellTo(counters_, EvictionCause::kShrink);
}

LogWriter& Reclaimer::WriterFor(const Pass& pass) noexcept {
  const Line line = pass.compacting ? pass.line : policy_.kept_line();
  if (pass.keep_place) return line == Line::kSmall ? compaction_writer_ : main_compaction_writer_;
  return line == Line::kSmall ? head_writer_ : main_writer_;
}

std::size_t Reclaimer::CopyLimit(Line line, ReclaimReason reason,
                                 std::size_t live_bytes) const noexcept {
  if (reason == ReclaimReason::kShrink) return SIZE_MAX;
  // What goes on to the other line does so once: however much that is, room comes about in the end.
  if (reason == ReclaimReason::kCapacity && line != policy_.kept_line()) return SIZE_MAX;
  const std::size_t share = live_bytes * kMaxKeptPercent / 100;
  return reason == ReclaimReason::kCapacity ? share + credit_bytes_ : share;
}

void Reclaimer::SettleCredit(const Pass& pass, std::size_t live_bytes) noexcept {
  const SegmentLog& log = table_.log();
  const std::size_t most = log.sealed_segments() * log.segment_bytes() / kCreditDivisor;
  const std::size_t available = credit_bytes_ + live_bytes * kMaxKeptPercent / 100;
  credit_bytes_ = std::min(most, available - std::min(available, pass.copied));
}

// False when something could neither be moved nor evicted.
bool Reclaimer::Empty(Pass& pass) noexcept {
  SegmentLog& log = table_.log();
  const Segment& segment = log.segment(pass.segment);
  const std::uint32_t tail = segment.tail.load(std::memory_order_relaxed);
  std::uint32_t fetched = 0;
  for (std::uint32_t offset = 0; offset < tail;) {
    // Often nothing that lives is left, then the records need not be looked at.
    if (segment.live_bytes() == 0) break;
    if (offset == fetched) fetched = FetchAhead(pass.segment, offset, tail);
    const Location location = log.LocationOf(pass.segment, offset);
    const Record record(log.At(location));
    const std::uint64_t h = record.Header();
    if (Record::KindOf(h) != RecordKind::kPadding && !Settle(pass, location, record, h))
      return false;
    offset += static_cast<std::uint32_t>(Record::BytesOf(h));
  }
  return true;
}

// Records lie in a row, but their buckets anywhere: the cache misses of some records overlap.
// Returns where those end.
std::uint32_t Reclaimer::FetchAhead(std::uint32_t segment, std::uint32_t offset,
                                    std::uint32_t tail) noexcept {
  const SegmentLog& log = table_.log();
  for (int i = 0; i < kFetchedAhead && offset < tail; ++i) {
    const Record record(log.At(log.LocationOf(segment, offset)));
    const std::uint64_t h = record.Header();
    const std::size_t bytes = Record::BytesOf(h);
    if (Record::KindOf(h) == RecordKind::kItem || Record::KindOf(h) == RecordKind::kLarge)
      table_.index().FetchBucket(hasher_.Hash(record.Key(h)));
    // The records that come next, if they are of this size.
    __builtin_prefetch(record.data() + kFetchedAhead * bytes);
    offset += static_cast<std::uint32_t>(bytes);
  }
  return offset;
}

bool Reclaimer::Settle(Pass& pass, Location location, Record record, std::uint64_t h) noexcept {
  bool may_keep = true;
  for (;;) {
    std::size_t needed = 0;
    std::uint32_t epoch = 0;
    const Verdict verdict = Judge(pass, location, record, h, may_keep, needed, epoch);
    if (pass.tell) {
      pass.tell = false;
      observer_->OnEvicted(pass.evicted);
    }
    if (verdict != Verdict::kNoRoom) return true;
    const std::uint32_t beside = pass.keep_place ? pass.segment : kNoSegment;
    if (pass.writer->Refill(needed, epoch, Claim::kMove, beside)) continue;
    if (!evictions_ || pass.compacting) return false;
    may_keep = false;
  }
}

auto Reclaimer::Judge(Pass& pass, Location location, Record record, std::uint64_t h, bool may_keep,
                      std::size_t& needed, std::uint32_t& epoch) noexcept -> Verdict {
  const bool is_piece = Record::KindOf(h) == RecordKind::kPiece;
  const std::uint64_t hash = is_piece ? record.PieceHash() : hasher_.Hash(record.Key(h));
  Partition& partition = table_.PartitionOf(hash);
  SpinLockHolder lock(partition.lock);
  epoch = table_.flush().epoch();
  const Moment moment{pass.now, epoch};
  std::uint32_t piece = 0;
  Found found = is_piece ? table_.FindOwner(partition, hash, location, moment, piece)
                         : table_.FindAt(partition, hash, location, moment);
  if (found.missing()) return Verdict::kGone;
  if (!found.live()) {
    if (found.life == Life::kExpired) pass.tally.AddExpired();
    table_.CountReclaimed(partition, found);
    table_.Remove(partition, found);
    return Verdict::kGone;
  }
  ItemFields fields;
  if (!is_piece) fields = table_.FieldsForCopy(found);
  const std::size_t bytes = is_piece ? Record::BytesOf(h) : RecordBytes(fields);
  const bool follow_value = !is_piece && PrecedesItsValue(found);
  if (!may_keep || (!follow_value && !Keeps(pass, found, bytes))) {
    Evict(pass, partition, found);
    return Verdict::kGone;
  }
  pass.writer->Select(is_piece ? kForever : LifetimeOf(fields.exptime, pass.now));
  const Location fresh = pass.writer->TryAllocate(bytes, epoch);
  if (fresh == kNowhere) {
    needed = bytes;
    return Verdict::kNoRoom;
  }
  pass.copied += bytes;
  if (is_piece) {
    table_.RelocatePiece(found, piece, hash, fresh);
    return Verdict::kMoved;
  }
  // The pieces of a large item come before its record: it is judged once, here.
  if (!pass.compacting && !follow_value) {
    found.slot->SetFrequency(FrequencyAfter(pass, found));
    pass.tally.AddKept();
  }
  table_.Relocate(partition, found, fields, fresh);
  return Verdict::kMoved;
}

// While shrinking every used item is kept once, not as often as it was used: it must come to an
// end.
unsigned Reclaimer::FrequencyAfter(const Pass& pass, const Found& found) const noexcept {
  return pass.shrinking ? 0 : policy_.FrequencyAfter(pass.line, found.slot->frequency());
}

// The chunk a record lies in may have been reserved long before its value came: many records of
// large items in one old segment. They move after their values, and are judged with those.
bool Reclaimer::PrecedesItsValue(const Found& found) const noexcept {
  if (Record::KindOf(found.header) != RecordKind::kLarge) return false;
  const SegmentLog& log = table_.log();
  return log.PositionOf(found.record.Piece(found.header, 0).location) >
         log.PositionOf(found.location);
}

bool Reclaimer::Keeps(const Pass& pass, const Found& found, std::size_t bytes) const noexcept {
  if (pass.compacting) return true;
  return policy_.Keeps(found.slot->frequency()) && pass.copied + bytes <= pass.copy_limit;
}

void Reclaimer::Evict(Pass& pass, Partition& partition, const Found& found) noexcept {
  if (observer_ != nullptr && observer_->Wants()) Describe(pass, found);
  pass.tally.AddEvicted(table_, found, policy_.Keeps(found.slot->frequency()), pass.now);
  const std::uint32_t tag = found.slot->tag();
  table_.Remove(partition, found);
  if (pass.draining || policy_.LeavesGhost(pass.line)) table_.index().AddGhost(partition, tag);
}

// The observer is told when the partition is unlocked; by then the item is gone.
void Reclaimer::Describe(Pass& pass, const Found& found) noexcept {
  const std::string_view key = found.record.Key(found.header);
  std::memcpy(pass.evicted_key, key.data(), key.size());
  pass.evicted.key = {pass.evicted_key, key.size()};
  pass.evicted.value_bytes = found.record.ValueBytes(found.header);
  pass.evicted.exptime = found.record.Exptime(found.header);
  pass.evicted.idle_seconds = Record::IdleSecondsOf(found.header, pass.now);
  pass.evicted.fetched = (found.header & header::kFetched) != 0;
  pass.tell = true;
}

// Takes the oldest segment as if to empty it, so that nobody else does, and puts it back.
std::uint32_t Reclaimer::NextIdleSeconds(std::uint32_t now) noexcept {
  MutexLock lock(mutex_);
  SegmentLog& log = table_.log();
  const Victim victim = log.PickOldest(Choice());
  if (victim.kind == VictimKind::kNone) return 0;
  const std::uint32_t tail = log.segment(victim.segment).tail.load(std::memory_order_relaxed);
  std::uint32_t idle = 0;
  int looks = 0;
  for (std::uint32_t offset = 0; offset < tail && looks < kMaxLooks; ++looks) {
    const Location location = log.LocationOf(victim.segment, offset);
    const Record record(log.At(location));
    const std::uint64_t h = record.Header();
    if (const auto found = IdleIfNext(location, record, h, now)) {
      idle = *found;
      break;
    }
    offset += static_cast<std::uint32_t>(Record::BytesOf(h));
  }
  log.Abandon(victim.segment);
  return idle;
}

// Nothing if it would not be evicted.
std::optional<std::uint32_t> Reclaimer::IdleIfNext(Location location, Record record,
                                                   std::uint64_t h, std::uint32_t now) noexcept {
  const RecordKind kind = Record::KindOf(h);
  if (kind == RecordKind::kPadding || kind == RecordKind::kPiece) return std::nullopt;
  const std::uint64_t hash = hasher_.Hash(record.Key(h));
  Partition& partition = table_.PartitionOf(hash);
  SpinLockHolder lock(partition.lock);
  const Found found = table_.FindAt(partition, hash, location, Moment{now, table_.flush().epoch()});
  if (!found.live() || policy_.Keeps(found.slot->frequency())) return std::nullopt;
  return Record::IdleSecondsOf(found.header, now);
}

bool Reclaimer::SweepOne(std::uint32_t now) noexcept {
  MutexLock lock(mutex_);
  SegmentLog& log = table_.log();
  const std::uint32_t epoch = table_.flush().epoch();
  const std::uint32_t id = log.NextToSweep(sweep_cursor_, epoch, now);
  if (id == kNoSegment) {
    RetireDead();
    counters_.sweeps.fetch_add(1, std::memory_order_relaxed);
    if (table_.flush().sweep_pending() && !log.HoldsOlderThan(epoch))
      table_.flush().SweepDone(epoch);
    return false;
  }
  Segment& segment = log.segment(id);
  // Found anew from what survives; who stores a new expiry meanwhile lowers it too.
  segment.earliest_exptime.store(Segment::kNoExptime, std::memory_order_relaxed);
  std::uint64_t items = 0;
  ForEachItem(log, id, [&](Location location, Record record, std::uint64_t h) {
    SweepRecord(location, record, h, now);
    ++items;
  });
  counters_.swept_items.fetch_add(items, std::memory_order_relaxed);
  // All of it was flushed. A large value goes with its item, which may lie elsewhere.
  if (segment.flush_epoch.load(std::memory_order_relaxed) < epoch &&
      !segment.holds_large.load(std::memory_order_relaxed))
    CountUnread(id, 0);
  RetireDead();
  return true;
}

void Reclaimer::RetireDead() noexcept {
  SegmentLog& log = table_.log();
  for (int i = 0; i < kMaxRetiredPerStep; ++i) {
    const Victim dead = log.PickDead();
    if (dead.kind == VictimKind::kNone) return;
    table_.index().epochs().WaitForReaders();
    Retire(dead.segment);
  }
}

void Reclaimer::SweepRecord(Location location, Record record, std::uint64_t h,
                            std::uint32_t now) noexcept {
  // Most records are neither expired nor flushed: they cost no lock.
  const std::uint32_t exptime = record.Exptime(h);
  const bool expired = exptime != 0 && exptime <= now;
  if (!expired) table_.log().NoteExptime(location, exptime);
  if (!expired && table_.log().EpochOf(location) == table_.flush().epoch()) return;
  const std::uint64_t hash = hasher_.Hash(record.Key(h));
  Partition& partition = table_.PartitionOf(hash);
  SpinLockHolder lock(partition.lock);
  const Found found = table_.FindAt(partition, hash, location, {now, table_.flush().epoch()});
  if (found.missing()) return;
  if (found.live()) {
    table_.log().NoteExptime(location, found.record.Exptime(found.header));
    return;
  }
  if (found.life == Life::kExpired)
    counters_.expired_in_sweep_items.fetch_add(1, std::memory_order_relaxed);
  table_.CountReclaimed(partition, found);
  table_.Remove(partition, found);
}

}  // namespace podcache::store
