// The order of things: segments that are open for writing, those that wait for eviction (oldest
// first, in two lines), and the choice of the next to be reclaimed.
//
// Writers reserve room in an open segment, in chunks, through LogWriter. A segment with outstanding
// reservations is never reclaimed; one from which a reader sends is reclaimed last and reused only
// when the reader is done.
//
// Threads: any; one mutex for order and states, taken per chunk, not per item. Lock order: a
// partition's lock may be held when calling in; the pool's mutex is taken inside. Ownership:
// segments belong to the pool while free, else to the log.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "common/base/mutex.h"
#include "server/memory/segment_pool.h"
#include "server/store/item.h"
#include "server/store/lifetime.h"
#include "server/store/segment.h"

namespace podcache::store {

class LogWriter;
struct SegmentEntry;

enum class Stream : std::uint8_t {
  kHead,  // New items; those given a second chance, too, if there is only one line.
  kMain,  // Items used again.
  // Items moved out of mostly dead segments of either line: they keep their place.
  kCompaction,
  kMainCompaction,
};
inline constexpr std::size_t kStreams = 4;
constexpr Line LineOf(Stream stream) noexcept {
  return stream == Stream::kMain || stream == Stream::kMainCompaction ? Line::kMain : Line::kSmall;
}

// Who asks for a new segment, hence how far down the free ones may go.
enum class Claim : std::uint8_t {
  kWrite,      // Leaves what moving items needs.
  kReclaimed,  // After reclaiming one: takes a committed one also while the budget is exceeded.
  kMove,       // Takes the last one.
};

struct Reservation {
  std::uint32_t segment = kNoSegment;
  std::uint32_t offset = 0;
  std::uint32_t bytes = 0;
  std::uint32_t epoch = 0;
  bool valid() const noexcept { return segment != kNoSegment; }
};

enum class VictimKind : std::uint8_t { kNone, kMostlyDead, kOldest };
struct Victim {
  VictimKind kind = VictimKind::kNone;
  std::uint32_t segment = kNoSegment;
};

// Which segment is the oldest.
struct OldestChoice {
  // That of the first line if that has more than this part of all segments.
  std::uint32_t small_percent = 0;
  // Before that, those of main from before a shift of popularity.
  bool drain = false;
  std::uint32_t drain_until = 0;
};

class SegmentLog {
 public:
  // Segments kept free for moving items out of others.
  static constexpr std::int64_t kMoveReserve = 2;
  // A place is late when this part of all segments, or this part of its line, was opened after it.
  static constexpr std::uint32_t kLateDivisor = 16;
  static constexpr std::uint32_t kLateLineDivisor = 4;
  static constexpr std::uint32_t kMinLate = 2;

  explicit SegmentLog(memory::SegmentPool& pool);
  ~SegmentLog();
  SegmentLog(const SegmentLog&) = delete;
  SegmentLog& operator=(const SegmentLog&) = delete;

  char* At(Location location) const noexcept { return pool_.base() + location * kUnitBytes; }
  Location LocationOf(std::uint32_t segment, std::uint32_t offset) const noexcept {
    return ((std::uint64_t{segment} << pool_.shift()) + offset) / kUnitBytes;
  }
  std::uint32_t SegmentOf(Location location) const noexcept {
    return static_cast<std::uint32_t>(location * kUnitBytes >> pool_.shift());
  }
  std::uint32_t SegmentAt(const char* p) const noexcept {
    return static_cast<std::uint32_t>(static_cast<std::size_t>(p - pool_.base()) >> pool_.shift());
  }
  Segment& segment(std::uint32_t id) noexcept { return segments_[id]; }
  const Segment& segment(std::uint32_t id) const noexcept { return segments_[id]; }
  // Unique over the life of the store.
  std::uint64_t PositionOf(Location location) const noexcept {
    const std::uint64_t units_per_segment = pool_.segment_bytes() / kUnitBytes;
    return segments_[SegmentOf(location)].first_position.load(std::memory_order_relaxed) +
           location % units_per_segment;
  }
  // A position above `position` that no record has or will have; 0 if that is above all of them.
  std::uint64_t TakePositionAbove(std::uint64_t position) noexcept;
  std::uint32_t EpochOf(Location location) const noexcept {
    return segments_[SegmentOf(location)].flush_epoch.load(std::memory_order_relaxed);
  }
  std::size_t segment_bytes() const noexcept { return pool_.segment_bytes(); }
  // Ids from here on have never been used.
  std::uint32_t used_id_limit() const noexcept { return pool_.used_id_limit(); }

  // Room of `min_bytes` to `max_bytes` in a segment of this or a later flush epoch, counted as a
  // writer of it until CloseReservation. `after` for kCompaction: the segment whose place in the
  // line a new one takes. If much is stored that lives so long, beside other things, it gets
  // segments of its own.
  Reservation Reserve(Stream stream, std::size_t min_bytes, std::size_t max_bytes,
                      std::uint32_t epoch, Claim claim, std::uint32_t beside = kNoSegment,
                      Lifetime lifetime = kForever) noexcept;
  // In whose segments it goes.
  Lifetime Settled(Lifetime lifetime) const noexcept {
    return lifetime_map_.load(std::memory_order_relaxed) >> 4 * lifetime & 7;
  }
  // Appends room to a reservation that is the last of an open segment. False if it cannot.
  bool Extend(Stream stream, Reservation& reservation, std::size_t bytes,
              Lifetime lifetime = kForever) noexcept;
  // The rest from `used` on becomes padding.
  void CloseReservation(const Reservation& reservation, std::uint32_t used) noexcept;

  // Whether what is written there now would leave much sooner than what others write: so much was
  // opened since.
  bool IsLate(std::uint32_t segment) const noexcept {
    const std::uint32_t part =
        std::min(sealed_segments() / kLateDivisor, SealedBeside(segment) / kLateLineDivisor);
    return OpenedSince(segment) > std::max(kMinLate, part);
  }
  // Whether its place is in the newer half of its line.
  bool IsRecent(std::uint32_t segment) const noexcept {
    return OpenedSince(segment) < SealedBeside(segment) / 2;
  }

  // A record nobody can find any more.
  void MarkDead(Location location, std::size_t bytes) noexcept;
  void NoteExptime(Location location, std::uint32_t exptime) noexcept;
  void NoteLarge(Location location) noexcept {
    segments_[SegmentOf(location)].holds_large.store(true, std::memory_order_relaxed);
  }

  void PinReader(std::uint32_t segment) noexcept { segments_[segment].readers.fetch_add(1); }
  void UnpinReader(std::uint32_t segment) noexcept;

  // Chooses what to reclaim and marks it so; the caller is the only one that reclaims.
  Victim PickVictim(bool evict, const OldestChoice& choice) noexcept;
  Victim PickOldest(const OldestChoice& choice) noexcept;
  // One in which nothing lives.
  Victim PickDead() noexcept;
  // The segment of the first line since which so many were opened, if it is sealed and whole.
  std::uint32_t FindYoung(std::uint32_t age) noexcept;
  // The next one that was not told yet, of so many oldest of main, opened by then.
  std::uint32_t NextToForget(std::uint32_t ahead, std::uint32_t until) noexcept;
  // Segments opened at the head of a line, so far; wraps.
  std::uint32_t opened(Line line) const noexcept {
    return order(line).opened.load(std::memory_order_relaxed);
  }
  bool WasOpenedBy(std::uint32_t segment, std::uint32_t opened) const noexcept {
    const std::uint32_t own = segments_[segment].opened.load(std::memory_order_relaxed);
    return static_cast<std::int32_t>(own - opened) <= 0;
  }
  // This one; false if it does not wait in line, or is in use.
  bool Take(std::uint32_t segment) noexcept;
  // The victim holds nothing any more. True if its memory is free at once.
  bool Retire(std::uint32_t segment) noexcept;
  // The victim stays, in its old place.
  void Abandon(std::uint32_t segment) noexcept;
  // The same, and what died in it meanwhile is worth looking at.
  void PutBack(std::uint32_t segment) noexcept;
  // The next sealed segment from `cursor` on with something to remove: of an older flush epoch, or
  // with an item that expired by `now`. kNoSegment at the end of the round.
  std::uint32_t NextToSweep(std::uint32_t& cursor, std::uint32_t epoch, std::uint32_t now) noexcept;
  // True when a segment of an older epoch holds anything; seals such open ones.
  bool HoldsOlderThan(std::uint32_t epoch) noexcept;

  // When nobody writes any more: seals what is open, closes what idle writers hold, frees what is
  // dead. False if a segment is still read or written.
  bool Settle() noexcept;
  // All segments, oldest first, line by line, once settled. `Place` is of the log itself.
  struct Place {
    std::uint64_t next_position = 0;
    std::array<std::uint32_t, kLines> opened{};
  };
  Place Save(std::vector<SegmentEntry>& segments) noexcept;
  // Before anybody uses the log. The pool has adopted the segments.
  void Restore(const Place& place, std::span<const SegmentEntry> segments) noexcept;

  void Register(LogWriter& writer) noexcept;
  void Unregister(LogWriter& writer) noexcept;

  std::uint32_t open_segments() const noexcept {
    return open_count_.load(std::memory_order_relaxed);
  }
  std::uint32_t sealed_segments() const noexcept {
    return sealed_segments(Line::kSmall) + sealed_segments(Line::kMain);
  }
  std::uint32_t sealed_segments(Line line) const noexcept {
    return order(line).sealed.load(std::memory_order_relaxed);
  }
  Line LineOf(std::uint32_t segment) const noexcept {
    return segments_[segment].line.load(std::memory_order_relaxed);
  }
  // Added up over all segments that are not free: no counter that every write changes.
  std::uint64_t dead_bytes() const noexcept;
  // Its age: how many have been opened at the head of its line since.
  std::uint32_t OpenedSince(std::uint32_t segment) const noexcept {
    return order(LineOf(segment)).opened.load(std::memory_order_relaxed) -
           segments_[segment].opened.load(std::memory_order_relaxed);
  }

 private:
  struct OpenSegment {
    std::uint32_t id = kNoSegment;
  };
  // A line; its ends are under the mutex.
  struct Order {
    std::atomic<std::uint32_t> opened{0};  // At the head, so far; wraps.
    std::atomic<std::uint32_t> sealed{0};
    std::uint32_t oldest = kNoSegment;
    std::uint32_t newest = kNoSegment;
  };

  Order& order(Line line) noexcept { return orders_[static_cast<std::size_t>(line)]; }
  const Order& order(Line line) const noexcept { return orders_[static_cast<std::size_t>(line)]; }
  std::uint32_t SealedBeside(std::uint32_t segment) const noexcept {
    return sealed_segments(LineOf(segment));
  }
  OpenSegment& open(Stream stream, Lifetime lifetime) noexcept REQUIRES(mutex_) {
    return open_[static_cast<std::size_t>(stream) * kLifetimes + lifetime];
  }
  void CountStoredLocked(Lifetime lifetime, std::size_t bytes) noexcept REQUIRES(mutex_);
  void ReviewLifetimesLocked() noexcept REQUIRES(mutex_);
  // With such room, of this stream or none.
  OpenSegment* FindRoomLocked(Stream stream, std::size_t bytes, std::uint32_t epoch) noexcept
      REQUIRES(mutex_);
  bool HasRoom(Stream stream, std::uint32_t segment, std::size_t bytes,
               std::uint32_t epoch) const noexcept;
  bool OpenLocked(Stream stream, Lifetime lifetime, std::uint32_t epoch, Claim claim,
                  std::uint32_t beside) noexcept REQUIRES(mutex_);
  void SealLocked(OpenSegment& open) noexcept REQUIRES(mutex_);
  void Pad(std::uint32_t segment, std::uint32_t offset, std::uint32_t bytes) noexcept;
  void AbandonLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  // One just sealed: if enough of it is dead.
  void ListIfDeadLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  void AddCandidateLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  void AddDeadLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  std::uint32_t PopDeadLocked() noexcept REQUIRES(mutex_);
  bool IsDead(std::uint32_t segment) const noexcept { return segments_[segment].live_bytes() == 0; }
  bool QuiesceLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  std::uint32_t PopCandidateLocked() noexcept REQUIRES(mutex_);
  std::uint32_t OldestLocked(const OldestChoice& choice) noexcept REQUIRES(mutex_);
  std::uint32_t OldestLocked(Line line) noexcept REQUIRES(mutex_);
  std::uint32_t MostDeadLocked() noexcept REQUIRES(mutex_);
  // None stays none.
  Victim TakeForReclaimLocked(Victim victim) noexcept REQUIRES(mutex_);
  void CountSealedLocked(std::uint32_t segment, std::uint32_t n) noexcept REQUIRES(mutex_);
  void LinkAtEndLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  void LinkBeforeLocked(std::uint32_t segment, std::uint32_t where) noexcept REQUIRES(mutex_);
  void UnlinkLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);
  void FreeLocked(std::uint32_t segment) noexcept REQUIRES(mutex_);

  memory::SegmentPool& pool_;
  Segment* segments_;
  const std::uint32_t candidate_bytes_;
  std::atomic<std::uint32_t> open_count_{0};
  Mutex mutex_;
  std::array<Order, kLines> orders_;
  std::array<OpenSegment, kStreams * kLifetimes> open_ GUARDED_BY(mutex_);
  // What was stored lately, and of which lifetimes.
  std::array<std::size_t, kLifetimes> stored_bytes_ GUARDED_BY(mutex_){};
  std::size_t all_stored_bytes_ GUARDED_BY(mutex_) = 0;
  // The lifetime whose segments each goes to, four bits each.
  std::atomic<std::uint32_t> lifetime_map_{0};
  std::uint64_t next_position_ GUARDED_BY(mutex_);
  std::uint32_t first_candidate_ GUARDED_BY(mutex_) = kNoSegment;
  std::uint32_t last_candidate_ GUARDED_BY(mutex_) = kNoSegment;
  std::uint32_t first_dead_ GUARDED_BY(mutex_) = kNoSegment;
  std::vector<LogWriter*> writers_ GUARDED_BY(mutex_);
};

}  // namespace podcache::store
