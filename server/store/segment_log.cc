#include "server/store/segment_log.h"

#include <algorithm>
#include <new>
#include <utility>

#include "common/base/check.h"
#include "server/memory/pages.h"
#include "server/memory/poison.h"
#include "server/store/log_writer.h"
#include "server/store/restart_format.h"

namespace podcache::store {
namespace {

// A segment is worth compacting when this part of it is dead.
constexpr std::size_t kCandidateDivisor = 4;
// Without eviction, when nothing better is left.
constexpr std::size_t kLastResortDivisor = 16;

// What is stored of each lifetime is counted over about so many segments, and gets its own if it is
// this part of all.
constexpr std::size_t kReviewSegments = 16;
constexpr std::size_t kOwnDivisor = 8;
constexpr std::uint32_t kMinSegmentsForLifetimes = 128;

}  // namespace

SegmentLog::SegmentLog(memory::SegmentPool& pool)
    : pool_(pool),
      segments_(reinterpret_cast<Segment*>(memory::MapPages(sizeof(Segment) * pool.id_limit()))),
      candidate_bytes_(static_cast<std::uint32_t>(pool.segment_bytes() / kCandidateDivisor)),
      // Position 0 is no position: a CAS id of 0 means "none".
      next_position_(pool.segment_bytes() / kUnitBytes) {
  // Zeroed pages are valid segments in state kFree; only those used take memory.
  static_assert(static_cast<int>(SegmentState::kFree) == 0);
  PODCACHE_CHECK(segments_ != nullptr);
}

SegmentLog::~SegmentLog() {
  memory::UnmapPages(reinterpret_cast<char*>(segments_), sizeof(Segment) * pool_.id_limit());
}

// One in which nothing was stored for long is left: what is written there would be evicted soon.
bool SegmentLog::HasRoom(Stream stream, std::uint32_t id, std::size_t bytes,
                         std::uint32_t epoch) const noexcept {
  const Segment& current = segments_[id];
  return current.flush_epoch.load(std::memory_order_relaxed) >= epoch &&
         segment_bytes() - current.tail.load(std::memory_order_relaxed) >= bytes &&
         (stream != Stream::kHead || !IsLate(id));
}

Reservation SegmentLog::Reserve(Stream stream, std::size_t min_bytes, std::size_t max_bytes,
                                std::uint32_t epoch, Claim claim, std::uint32_t beside,
                                Lifetime lifetime) noexcept {
  MutexLock lock(mutex_);
  const Lifetime settled = Settled(lifetime);
  OpenSegment* place = &open(stream, settled);
  if (place->id != kNoSegment && !HasRoom(stream, place->id, min_bytes, epoch)) SealLocked(*place);
  if (place->id == kNoSegment && !OpenLocked(stream, settled, epoch, claim, beside)) {
    place = FindRoomLocked(stream, min_bytes, epoch);
    if (place == nullptr) return {};
  }
  Segment& current = segments_[place->id];
  const std::uint32_t offset = current.tail.load(std::memory_order_relaxed);
  const auto bytes = static_cast<std::uint32_t>(std::min(max_bytes, segment_bytes() - offset));
  current.tail.store(offset + bytes, std::memory_order_relaxed);
  current.writers.fetch_add(1, std::memory_order_relaxed);
  memory::Unpoison(pool_.Address(place->id) + offset, bytes);
  const Reservation reservation{place->id, offset, bytes,
                                current.flush_epoch.load(std::memory_order_relaxed)};
  if (stream == Stream::kHead) CountStoredLocked(lifetime, bytes);
  return reservation;
}

// Without a free segment, what lives otherwise lies together.
SegmentLog::OpenSegment* SegmentLog::FindRoomLocked(Stream stream, std::size_t bytes,
                                                    std::uint32_t epoch) noexcept {
  for (Lifetime other = 0; other < kLifetimes; ++other) {
    OpenSegment& place = open(stream, other);
    if (place.id != kNoSegment && HasRoom(stream, place.id, bytes, epoch)) return &place;
  }
  return nullptr;
}

void SegmentLog::CountStoredLocked(Lifetime lifetime, std::size_t bytes) noexcept {
  stored_bytes_[lifetime] += bytes;
  all_stored_bytes_ += bytes;
  if (all_stored_bytes_ >= kReviewSegments * segment_bytes()) ReviewLifetimesLocked();
}

// What of one lifetime is a good part of all that is stored has segments of its own, the rest goes
// where most does. In a small log nothing has: open segments would be a good part of it.
void SegmentLog::ReviewLifetimesLocked() noexcept {
  const bool small = sealed_segments() < kMinSegmentsForLifetimes;
  const auto most =
      static_cast<Lifetime>(std::ranges::max_element(stored_bytes_) - stored_bytes_.begin());
  std::uint32_t map = 0;
  for (Lifetime lifetime = 0; lifetime < kLifetimes; ++lifetime) {
    // Whose segments are open already keeps them longer, so that it is not to and fro.
    const bool had = Settled(lifetime) == lifetime;
    const std::size_t enough = all_stored_bytes_ / (had ? 2 * kOwnDivisor : kOwnDivisor);
    const Lifetime own = stored_bytes_[lifetime] >= enough ? lifetime : most;
    map |= (small ? kForever : own) << 4 * lifetime;
  }
  for (std::size_t i = 0; i < open_.size(); ++i) {
    const auto lifetime = static_cast<Lifetime>(i % kLifetimes);
    if (open_[i].id != kNoSegment && (map >> 4 * lifetime & 7) != lifetime) SealLocked(open_[i]);
  }
  lifetime_map_.store(map, std::memory_order_relaxed);
  for (std::size_t& bytes : stored_bytes_) bytes /= 2;
  all_stored_bytes_ /= 2;
}

bool SegmentLog::Extend(Stream stream, Reservation& reservation, std::size_t bytes,
                        Lifetime lifetime) noexcept {
  MutexLock lock(mutex_);
  Segment& current = segments_[reservation.segment];
  if (current.state.load(std::memory_order_relaxed) != SegmentState::kOpen) return false;
  const std::uint32_t tail = current.tail.load(std::memory_order_relaxed);
  if (tail != reservation.offset + reservation.bytes || segment_bytes() - tail < bytes)
    return false;
  current.tail.store(tail + static_cast<std::uint32_t>(bytes), std::memory_order_relaxed);
  memory::Unpoison(pool_.Address(reservation.segment) + tail, bytes);
  reservation.bytes += static_cast<std::uint32_t>(bytes);
  if (stream == Stream::kHead) CountStoredLocked(lifetime, bytes);
  return true;
}

void SegmentLog::CloseReservation(const Reservation& reservation, std::uint32_t used) noexcept {
  if (used < reservation.bytes) {
    Pad(reservation.segment, reservation.offset + used, reservation.bytes - used);
  }
  // Release: whoever sees no writers sees what they wrote.
  segments_[reservation.segment].writers.fetch_sub(1, std::memory_order_release);
}

void SegmentLog::Pad(std::uint32_t id, std::uint32_t offset, std::uint32_t bytes) noexcept {
  char* const p = pool_.Address(id) + offset;
  memory::Unpoison(p, kHeaderBytes);
  Record(p).WritePadding(bytes);
  segments_[id].padding.fetch_add(bytes, std::memory_order_relaxed);
}

bool SegmentLog::OpenLocked(Stream stream, Lifetime lifetime, std::uint32_t epoch, Claim claim,
                            std::uint32_t beside) noexcept {
  const std::int64_t keep = claim == Claim::kMove ? 0 : kMoveReserve;
  std::uint32_t id = pool_.Take(keep);
  if (id == kNoSegment && claim != Claim::kWrite) id = pool_.TakeCommitted(keep);
  if (id == kNoSegment) return false;
  Segment& fresh = segments_[id];
  fresh.tail.store(0, std::memory_order_relaxed);
  fresh.dead.store(0, std::memory_order_relaxed);
  fresh.padding.store(0, std::memory_order_relaxed);
  fresh.forgotten_until = order(Line::kMain).opened.load(std::memory_order_relaxed) - 1;
  fresh.holds_large.store(false, std::memory_order_relaxed);
  fresh.earliest_exptime.store(Segment::kNoExptime, std::memory_order_relaxed);
  fresh.flush_epoch.store(epoch, std::memory_order_relaxed);
  fresh.first_position.store(next_position_, std::memory_order_relaxed);
  next_position_ += segment_bytes() / kUnitBytes;
  const Line line = store::LineOf(stream);
  fresh.line.store(line, std::memory_order_relaxed);
  fresh.state.store(SegmentState::kOpen);
  if (beside == kNoSegment) {
    const std::uint32_t before = order(line).opened.fetch_add(1, std::memory_order_relaxed);
    fresh.opened.store(before + 1, std::memory_order_relaxed);
    LinkAtEndLocked(id);
  } else {
    fresh.opened.store(segments_[beside].opened.load(std::memory_order_relaxed),
                       std::memory_order_relaxed);
    LinkBeforeLocked(id, beside);
  }
  open_count_.fetch_add(1, std::memory_order_relaxed);
  open(stream, lifetime).id = id;
  return true;
}

void SegmentLog::SealLocked(OpenSegment& open) noexcept {
  Segment& sealed = segments_[open.id];
  const std::uint32_t tail = sealed.tail.load(std::memory_order_relaxed);
  const auto rest = static_cast<std::uint32_t>(segment_bytes()) - tail;
  if (rest != 0) Pad(open.id, tail, rest);
  sealed.tail.store(tail + rest, std::memory_order_relaxed);
  sealed.state.store(SegmentState::kSealed);
  open_count_.fetch_sub(1, std::memory_order_relaxed);
  CountSealedLocked(open.id, 1);
  ListIfDeadLocked(open.id);
  open.id = kNoSegment;
}

std::uint64_t SegmentLog::TakePositionAbove(std::uint64_t position) noexcept {
  MutexLock lock(mutex_);
  return position < next_position_ ? next_position_++ : 0;
}

void SegmentLog::MarkDead(Location location, std::size_t bytes) noexcept {
  const std::uint32_t id = SegmentOf(location);
  Segment& holder = segments_[id];
  const std::uint32_t before =
      holder.dead.fetch_add(static_cast<std::uint32_t>(bytes), std::memory_order_release);
  // Twice per segment: when it crosses the mark, and when nothing lives any more. One still open is
  // looked at when it is sealed.
  const bool crossed = before < candidate_bytes_ && before + bytes >= candidate_bytes_;
  if (!crossed && !IsDead(id)) return;
  MutexLock lock(mutex_);
  if (holder.state.load(std::memory_order_relaxed) != SegmentState::kSealed) return;
  if (crossed) AddCandidateLocked(id);
  if (IsDead(id)) AddDeadLocked(id);
}

void SegmentLog::NoteExptime(Location location, std::uint32_t exptime) noexcept {
  if (exptime == 0) return;
  std::atomic<std::uint32_t>& earliest = segments_[SegmentOf(location)].earliest_exptime;
  std::uint32_t current = earliest.load(std::memory_order_relaxed);
  while (exptime < current &&
         !earliest.compare_exchange_weak(current, exptime, std::memory_order_relaxed)) {
  }
}

void SegmentLog::UnpinReader(std::uint32_t id) noexcept {
  Segment& holder = segments_[id];
  if (holder.readers.fetch_sub(1) != 1 || holder.state.load() != SegmentState::kDraining) return;
  MutexLock lock(mutex_);
  // Two last readers may both come here, and the segment may already be in use again.
  if (holder.state.load() == SegmentState::kDraining && holder.readers.load() == 0) FreeLocked(id);
}

Victim SegmentLog::PickVictim(bool evict, const OldestChoice& choice) noexcept {
  MutexLock lock(mutex_);
  // First those that cost nothing.
  Victim victim{VictimKind::kMostlyDead, PopDeadLocked()};
  if (victim.segment == kNoSegment) victim.segment = PopCandidateLocked();
  if (victim.segment == kNoSegment && evict) victim = {VictimKind::kOldest, OldestLocked(choice)};
  if (victim.segment == kNoSegment && !evict) victim = {VictimKind::kMostlyDead, MostDeadLocked()};
  return TakeForReclaimLocked(victim);
}

Victim SegmentLog::PickOldest(const OldestChoice& choice) noexcept {
  MutexLock lock(mutex_);
  return TakeForReclaimLocked({VictimKind::kOldest, OldestLocked(choice)});
}

std::uint32_t SegmentLog::FindYoung(std::uint32_t age) noexcept {
  MutexLock lock(mutex_);
  for (std::uint32_t id = order(Line::kSmall).newest; id != kNoSegment;
       id = segments_[id].previous) {
    const std::uint32_t since = OpenedSince(id);
    if (since > age) break;
    if (since == age &&
        segments_[id].state.load(std::memory_order_relaxed) == SegmentState::kSealed &&
        QuiesceLocked(id))
      return id;
  }
  return kNoSegment;
}

std::uint32_t SegmentLog::NextToForget(std::uint32_t ahead, std::uint32_t until) noexcept {
  MutexLock lock(mutex_);
  std::uint32_t id = order(Line::kMain).oldest;
  for (std::uint32_t seen = 0; id != kNoSegment && seen < ahead; id = segments_[id].next) {
    Segment& old = segments_[id];
    if (old.state.load(std::memory_order_relaxed) != SegmentState::kSealed || !QuiesceLocked(id))
      continue;
    if (!WasOpenedBy(id, until)) break;
    ++seen;
    if (old.forgotten_until == until) continue;
    old.forgotten_until = until;
    return id;
  }
  return kNoSegment;
}

Victim SegmentLog::PickDead() noexcept {
  MutexLock lock(mutex_);
  return TakeForReclaimLocked({VictimKind::kMostlyDead, PopDeadLocked()});
}

bool SegmentLog::Take(std::uint32_t id) noexcept {
  MutexLock lock(mutex_);
  if (segments_[id].state.load(std::memory_order_relaxed) != SegmentState::kSealed ||
      !QuiesceLocked(id))
    return false;
  TakeForReclaimLocked({VictimKind::kOldest, id});
  return true;
}

Victim SegmentLog::TakeForReclaimLocked(Victim victim) noexcept {
  if (victim.segment == kNoSegment) return {};
  segments_[victim.segment].state.store(SegmentState::kReclaiming);
  CountSealedLocked(victim.segment, -1U);
  return victim;
}

bool SegmentLog::Retire(std::uint32_t id) noexcept {
  MutexLock lock(mutex_);
  UnlinkLocked(id);
  Segment& done = segments_[id];
  done.state.store(SegmentState::kDraining);
  if (done.readers.load() != 0) return false;
  FreeLocked(id);
  return true;
}

void SegmentLog::Abandon(std::uint32_t id) noexcept {
  MutexLock lock(mutex_);
  AbandonLocked(id);
}

void SegmentLog::PutBack(std::uint32_t id) noexcept {
  MutexLock lock(mutex_);
  AbandonLocked(id);
  ListIfDeadLocked(id);
}

void SegmentLog::AbandonLocked(std::uint32_t id) noexcept {
  segments_[id].state.store(SegmentState::kSealed);
  CountSealedLocked(id, 1);
}

void SegmentLog::ListIfDeadLocked(std::uint32_t id) noexcept {
  if (segments_[id].dead.load(std::memory_order_relaxed) >= candidate_bytes_)
    AddCandidateLocked(id);
  if (IsDead(id)) AddDeadLocked(id);
}

void SegmentLog::FreeLocked(std::uint32_t id) noexcept {
  segments_[id].state.store(SegmentState::kFree);
  pool_.Give(id);
}

std::uint64_t SegmentLog::dead_bytes() const noexcept {
  std::uint64_t bytes = 0;
  for (std::uint32_t id = kNoSegment + 1; id < used_id_limit(); ++id) {
    const SegmentState state = segments_[id].state.load(std::memory_order_relaxed);
    if (state != SegmentState::kFree && state != SegmentState::kDraining)
      bytes += segments_[id].dead.load(std::memory_order_relaxed);
  }
  return bytes;
}

std::uint32_t SegmentLog::NextToSweep(std::uint32_t& cursor, std::uint32_t epoch,
                                      std::uint32_t now) noexcept {
  MutexLock lock(mutex_);
  for (const std::uint32_t end = pool_.used_id_limit(); cursor < end;) {
    const std::uint32_t id = cursor++;
    Segment& candidate = segments_[id];
    const bool flushed = candidate.flush_epoch.load(std::memory_order_relaxed) < epoch;
    const bool expired = candidate.earliest_exptime.load(std::memory_order_relaxed) <= now;
    if (candidate.state.load(std::memory_order_relaxed) == SegmentState::kSealed &&
        (flushed || expired) && candidate.live_bytes() != 0 && QuiesceLocked(id)) {
      return id;
    }
  }
  cursor = 1;
  return kNoSegment;
}

bool SegmentLog::HoldsOlderThan(std::uint32_t epoch) noexcept {
  MutexLock lock(mutex_);
  for (OpenSegment& open : open_) {
    if (open.id != kNoSegment &&
        segments_[open.id].flush_epoch.load(std::memory_order_relaxed) < epoch)
      SealLocked(open);
  }
  for (const Order& line : orders_) {
    for (std::uint32_t id = line.oldest; id != kNoSegment; id = segments_[id].next) {
      const Segment& held = segments_[id];
      if (held.flush_epoch.load(std::memory_order_relaxed) < epoch && held.live_bytes() != 0)
        return true;
    }
  }
  return false;
}

bool SegmentLog::Settle() noexcept {
  MutexLock lock(mutex_);
  for (OpenSegment& open : open_) {
    if (open.id != kNoSegment) SealLocked(open);
  }
  for (const Order& line : orders_) {
    for (std::uint32_t id = line.oldest; id != kNoSegment;) {
      const std::uint32_t next = segments_[id].next;
      if (segments_[id].state.load() != SegmentState::kSealed || !QuiesceLocked(id)) return false;
      if (IsDead(id)) {
        UnlinkLocked(id);
        CountSealedLocked(id, -1U);
        FreeLocked(id);
      }
      id = next;
    }
  }
  return true;
}

SegmentLog::Place SegmentLog::Save(std::vector<SegmentEntry>& segments) noexcept {
  MutexLock lock(mutex_);
  Place place{next_position_, {}};
  for (std::size_t i = 0; i < kLines; ++i) {
    place.opened[i] = orders_[i].opened.load();
    for (std::uint32_t id = orders_[i].oldest; id != kNoSegment; id = segments_[id].next) {
      const Segment& held = segments_[id];
      segments.push_back({id, held.dead.load(), held.padding.load(), held.earliest_exptime.load(),
                          held.flush_epoch.load(), held.opened.load(), held.first_position.load(),
                          0, static_cast<std::uint32_t>(i), held.holds_large.load() ? 1U : 0U});
    }
  }
  return place;
}

void SegmentLog::Restore(const Place& place, std::span<const SegmentEntry> segments) noexcept {
  MutexLock lock(mutex_);
  next_position_ = place.next_position;
  for (std::size_t i = 0; i < kLines; ++i) orders_[i].opened.store(place.opened[i]);
  for (const SegmentEntry& entry : segments) {
    Segment& held = segments_[entry.id];
    held.tail.store(static_cast<std::uint32_t>(segment_bytes()));
    held.dead.store(entry.dead);
    held.padding.store(entry.padding);
    held.earliest_exptime.store(entry.earliest_exptime);
    held.flush_epoch.store(entry.flush_epoch);
    held.opened.store(entry.opened);
    held.first_position.store(entry.first_position);
    held.holds_large.store(entry.holds_large != 0);
    held.line.store(entry.line == 0 ? Line::kSmall : Line::kMain);
    held.state.store(SegmentState::kSealed);
    LinkAtEndLocked(entry.id);
    CountSealedLocked(entry.id, 1);
    if (entry.dead >= candidate_bytes_) AddCandidateLocked(entry.id);
  }
}

void SegmentLog::Register(LogWriter& writer) noexcept {
  MutexLock lock(mutex_);
  writers_.push_back(&writer);
}

void SegmentLog::Unregister(LogWriter& writer) noexcept {
  MutexLock lock(mutex_);
  std::erase(writers_, &writer);
}

void SegmentLog::AddCandidateLocked(std::uint32_t id) noexcept {
  Segment& candidate = segments_[id];
  if (candidate.candidate) return;
  candidate.candidate = true;
  candidate.next_candidate = kNoSegment;
  (first_candidate_ == kNoSegment ? first_candidate_ : segments_[last_candidate_].next_candidate) =
      id;
  last_candidate_ = id;
}

void SegmentLog::AddDeadLocked(std::uint32_t id) noexcept {
  Segment& dead = segments_[id];
  if (dead.listed_dead) return;
  dead.listed_dead = true;
  dead.next_dead = std::exchange(first_dead_, id);
}

std::uint32_t SegmentLog::PopDeadLocked() noexcept {
  while (first_dead_ != kNoSegment) {
    const std::uint32_t id = first_dead_;
    Segment& dead = segments_[id];
    first_dead_ = dead.next_dead;
    dead.listed_dead = false;
    // As with candidates: one in use is found as the oldest later.
    if (dead.state.load(std::memory_order_relaxed) == SegmentState::kSealed && IsDead(id) &&
        QuiesceLocked(id)) {
      return id;
    }
  }
  return kNoSegment;
}

std::uint32_t SegmentLog::PopCandidateLocked() noexcept {
  while (first_candidate_ != kNoSegment) {
    const std::uint32_t id = first_candidate_;
    Segment& candidate = segments_[id];
    first_candidate_ = candidate.next_candidate;
    candidate.candidate = false;
    // One in use is found in another way when it matters; one reclaimed or filled anew since need
    // not be.
    if (candidate.state.load(std::memory_order_relaxed) == SegmentState::kSealed &&
        candidate.dead.load(std::memory_order_relaxed) >= candidate_bytes_ && QuiesceLocked(id)) {
      return id;
    }
  }
  return kNoSegment;
}

std::uint32_t SegmentLog::OldestLocked(const OldestChoice& choice) noexcept {
  if (choice.drain) {
    const std::uint32_t old = OldestLocked(Line::kMain);
    if (old != kNoSegment && WasOpenedBy(old, choice.drain_until)) return old;
  }
  const std::uint64_t small = sealed_segments(Line::kSmall);
  // With a single line the other one is what a policy before a restart has left.
  const bool from_small =
      choice.small_percent == 0
          ? sealed_segments(Line::kMain) == 0
          : small * 100 > std::uint64_t{sealed_segments()} * choice.small_percent;
  const std::uint32_t id = OldestLocked(from_small ? Line::kSmall : Line::kMain);
  return id != kNoSegment ? id : OldestLocked(from_small ? Line::kMain : Line::kSmall);
}

std::uint32_t SegmentLog::OldestLocked(Line line) noexcept {
  for (std::uint32_t id = order(line).oldest; id != kNoSegment; id = segments_[id].next) {
    if (segments_[id].state.load(std::memory_order_relaxed) == SegmentState::kSealed &&
        QuiesceLocked(id))
      return id;
  }
  return kNoSegment;
}

std::uint32_t SegmentLog::MostDeadLocked() noexcept {
  std::uint32_t best = kNoSegment;
  auto most = static_cast<std::uint32_t>(segment_bytes() / kLastResortDivisor) - 1;
  for (const Order& line : orders_) {
    for (std::uint32_t id = line.oldest; id != kNoSegment; id = segments_[id].next) {
      const std::uint32_t dead = segments_[id].dead.load(std::memory_order_relaxed);
      if (dead > most &&
          segments_[id].state.load(std::memory_order_relaxed) == SegmentState::kSealed &&
          QuiesceLocked(id)) {
        best = id;
        most = dead;
      }
    }
  }
  return best;
}

// No reader, and no writer but idle ones, whose reservations are closed for them.
bool SegmentLog::QuiesceLocked(std::uint32_t id) noexcept {
  Segment& quiet = segments_[id];
  if (quiet.readers.load() != 0) return false;
  if (quiet.writers.load(std::memory_order_acquire) == 0) return true;
  for (LogWriter* writer : writers_) writer->CloseIfIdle(id);
  return quiet.writers.load(std::memory_order_acquire) == 0;
}

// Under the mutex, so that load and store are one step.
void SegmentLog::CountSealedLocked(std::uint32_t id, std::uint32_t n) noexcept {
  std::atomic<std::uint32_t>& sealed = order(LineOf(id)).sealed;
  sealed.store(sealed.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

void SegmentLog::LinkAtEndLocked(std::uint32_t id) noexcept {
  Order& line = order(LineOf(id));
  segments_[id].previous = line.newest;
  segments_[id].next = kNoSegment;
  (line.newest == kNoSegment ? line.oldest : segments_[line.newest].next) = id;
  line.newest = id;
}

void SegmentLog::LinkBeforeLocked(std::uint32_t id, std::uint32_t where) noexcept {
  Segment& fresh = segments_[id];
  fresh.next = where;
  fresh.previous = segments_[where].previous;
  segments_[where].previous = id;
  (fresh.previous == kNoSegment ? order(LineOf(id)).oldest : segments_[fresh.previous].next) = id;
}

void SegmentLog::UnlinkLocked(std::uint32_t id) noexcept {
  const Segment& gone = segments_[id];
  Order& line = order(LineOf(id));
  (gone.previous == kNoSegment ? line.oldest : segments_[gone.previous].next) = gone.next;
  (gone.next == kNoSegment ? line.newest : segments_[gone.next].previous) = gone.previous;
}

}  // namespace podcache::store
