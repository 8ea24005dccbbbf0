// Items, found by key: the index and the records it points to, kept in step.
//
// Everything that changes which record a key has, or what a record says, goes through here. Knows
// nothing of sessions, eviction policy or budgets.
//
// Threads: every operation on a key happens under the lock of its partition. Slots and records in a
// `Found` are valid while that lock is held and nothing was inserted or removed since.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/store/flush_state.h"
#include "server/store/index.h"
#include "server/store/item.h"
#include "server/store/segment_log.h"

namespace podcache::store {

enum class Life : std::uint8_t { kMissing, kLive, kExpired, kFlushed };

// One moment as an operation sees it.
struct Moment {
  std::uint32_t now = 0;    // Seconds of the Unix epoch.
  std::uint32_t epoch = 0;  // Of flush_all.
};

struct Found {
  Life life = Life::kMissing;
  Slot* slot = nullptr;
  Location location = kNowhere;
  Record record{nullptr};
  std::uint64_t header = 0;

  bool live() const noexcept { return life == Life::kLive; }
  bool missing() const noexcept { return life == Life::kMissing; }
};

class ItemTable {
 public:
  ItemTable(Index& index, SegmentLog& log, FlushState& flush)
      : index_(index), log_(log), flush_(flush) {}

  Index& index() noexcept { return index_; }
  SegmentLog& log() noexcept { return log_; }
  FlushState& flush() noexcept { return flush_; }
  Partition& PartitionOf(std::uint64_t hash) noexcept { return index_.PartitionOf(hash); }

  Found Find(Partition& partition, std::string_view key, std::uint64_t hash, Moment moment) noexcept
      REQUIRES(partition.lock);
  // The item whose record lies exactly there; kMissing if that record is no longer an item's.
  Found FindAt(Partition& partition, std::uint64_t hash, Location location, Moment moment) noexcept
      REQUIRES(partition.lock);
  // The large item that owns this piece; `piece` is which one it is.
  Found FindOwner(Partition& partition, std::uint64_t hash, Location piece_location, Moment moment,
                  std::uint32_t& piece) noexcept REQUIRES(partition.lock);

  // The item of a slot that somebody walks over.
  Found Look(Slot& slot, Moment moment) const noexcept { return Examine(&slot, moment); }

  // What `gets` shows: the position where the record was written, unless it was moved since.
  std::uint64_t CasOf(const Found& found) const noexcept;
  // The CAS id leaves the store: from now on it changes with the value and survives a move.
  std::uint64_t ObserveCas(Found& found) noexcept;
  // Live bytes of the item: its record and its pieces.
  std::size_t ItemBytes(const Found& found) const noexcept;

  // The record at `fresh`, complete, becomes the key's; whatever `old` was is dead. False without
  // room in the index.
  bool Publish(Partition& partition, std::uint64_t hash, const Found& old, Location fresh) noexcept
      REQUIRES(partition.lock);
  void Remove(Partition& partition, const Found& found) noexcept REQUIRES(partition.lock) {
    RemoveOnly(partition, found);
    index_.ShrinkToFit(partition);
  }
  // For who removes many: everything else of the partition stays where it is.
  void RemoveOnly(Partition& partition, const Found& found) noexcept REQUIRES(partition.lock);
  // The same for an item whose record is not read: its bytes are counted out later (CountUnread).
  // Not of a segment that holds anything large.
  void RemoveUnread(Partition& partition, Slot& slot, Line line) noexcept REQUIRES(partition.lock);
  // What of a segment counts as live beyond `live_bytes` is what was removed unread: now it is
  // counted out. Returns how much that was.
  std::size_t CountUnread(std::uint32_t segment, std::size_t live_bytes) noexcept;
  // Counts an item that was found expired or flushed and is now removed or replaced.
  void CountReclaimed(Partition& partition, const Found& found) noexcept REQUIRES(partition.lock);
  // A record that was allocated and will not be published.
  void Discard(Location location, std::size_t bytes) noexcept;

  // The fields of a copy of the record elsewhere: an observed CAS id becomes explicit.
  ItemFields FieldsForCopy(const Found& found) const noexcept;
  // Copies the record with these fields to `fresh` and points the slot there; pieces stay where
  // they are.
  void Relocate(Partition& partition, Found& found, const ItemFields& fields,
                Location fresh) noexcept REQUIRES(partition.lock);
  void RelocatePiece(Found& owner, std::uint32_t piece, std::uint64_t hash,
                     Location fresh) noexcept;

  // Replaces value, flags and exptime where they are, if the new item has the same shape, is about
  // as large, and nobody knows the CAS id. `value` must not overlap the record.
  bool OverwriteInPlace(Found& found, const ItemFields& fields, std::string_view value) noexcept;
  // Replaces only the value, if it fits and nobody knows the CAS id.
  bool SetValueInPlace(Found& found, std::string_view value, std::uint32_t access) noexcept;

 private:
  Found Examine(Slot* slot, Moment moment) const noexcept;
  // An item of so many bytes begins or ceases to lie there.
  void CountIn(Partition& partition, Location location, std::size_t item_bytes) noexcept
      REQUIRES(partition.lock);
  void CountOut(Partition& partition, Location location, std::size_t item_bytes) noexcept
      REQUIRES(partition.lock);
  void MarkPiecesDead(const Found& found) noexcept;
  void MarkRecordDead(const Found& found) noexcept;

  Index& index_;
  SegmentLog& log_;
  FlushState& flush_;
};

}  // namespace podcache::store
