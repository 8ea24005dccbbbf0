#include "server/store/item_table.h"

#include <cstring>

#include "common/base/check.h"
#include "server/memory/poison.h"
#include "server/store/value_copy.h"

namespace podcache::store {
namespace {

// Bounds for overwriting in place: above, a reader's copy would take long; below, room is wasted.
constexpr std::uint64_t kMaxInPlaceValueBytes = 4096;
constexpr std::size_t kMinInPlacePercent = 88;

bool IsOverwritable(std::uint64_t h) noexcept {
  return Record::KindOf(h) == RecordKind::kItem && (h & (header::kObserved | header::kHasCas)) == 0;
}

}  // namespace

Found ItemTable::Examine(Slot* slot, Moment moment) const noexcept {
  Found found;
  if (slot == nullptr) return found;
  found.slot = slot;
  found.location = slot->location();
  found.record = Record(log_.At(found.location));
  found.header = found.record.Header();
  found.life = Life::kLive;
  const std::uint32_t exptime = found.record.Exptime(found.header);
  if (flush_.sweep_pending() && log_.EpochOf(found.location) < moment.epoch) {
    found.life = Life::kFlushed;
  } else if (exptime != 0 && exptime <= moment.now) {
    found.life = Life::kExpired;
  }
  return found;
}

Found ItemTable::Find(Partition& partition, std::string_view key, std::uint64_t hash,
                      Moment moment) noexcept {
  Slot* const slot = index_.Find(partition, hash, [&](Location location) {
    const Record record(log_.At(location));
    const std::string_view other = record.Key(record.Header());
    return other.size() == key.size() && SameKeyBytes(other.data(), key.data(), key.size());
  });
  return Examine(slot, moment);
}

Found ItemTable::FindAt(Partition& partition, std::uint64_t hash, Location location,
                        Moment moment) noexcept {
  return Examine(index_.Find(partition, hash, [&](Location l) { return l == location; }), moment);
}

Found ItemTable::FindOwner(Partition& partition, std::uint64_t hash, Location piece_location,
                           Moment moment, std::uint32_t& piece) noexcept {
  Slot* const slot = index_.Find(partition, hash, [&](Location location) {
    const Record record(log_.At(location));
    const std::uint64_t h = record.Header();
    if (Record::KindOf(h) != RecordKind::kLarge) return false;
    for (std::uint32_t i = 0; i < Record::PieceCount(h); ++i) {
      if (record.Piece(h, i).location != piece_location) continue;
      piece = i;
      return true;
    }
    return false;
  });
  return Examine(slot, moment);
}

std::uint64_t ItemTable::CasOf(const Found& found) const noexcept {
  const std::uint64_t explicit_cas = found.record.ExplicitCas(found.header);
  return explicit_cas != 0 ? explicit_cas : log_.PositionOf(found.location);
}

std::uint64_t ItemTable::ObserveCas(Found& found) noexcept {
  if ((found.header & header::kObserved) == 0) {
    found.header |= header::kObserved;
    found.record.SetHeader(found.header);
  }
  return CasOf(found);
}

std::size_t ItemTable::ItemBytes(const Found& found) const noexcept {
  std::size_t bytes = Record::BytesOf(found.header);
  if (Record::KindOf(found.header) != RecordKind::kLarge) return bytes;
  for (std::uint32_t i = 0; i < Record::PieceCount(found.header); ++i) {
    bytes += Record(log_.At(found.record.Piece(found.header, i).location)).bytes();
  }
  return bytes;
}

bool ItemTable::Publish(Partition& partition, std::uint64_t hash, const Found& old,
                        Location fresh) noexcept {
  Found found;
  found.location = fresh;
  found.record = Record(log_.At(fresh));
  found.header = found.record.Header();
  const std::size_t bytes = ItemBytes(found);
  if (old.missing()) {
    if (!index_.Insert(partition, hash, fresh)) return false;
  } else {
    CountOut(partition, old.location, ItemBytes(old));
    MarkPiecesDead(old);
    MarkRecordDead(old);
    old.slot->SetLocation(fresh);
  }
  CountIn(partition, fresh, bytes);
  if (Record::KindOf(found.header) == RecordKind::kLarge) log_.NoteLarge(fresh);
  log_.NoteExptime(fresh, found.record.Exptime(found.header));
  return true;
}

void ItemTable::RemoveOnly(Partition& partition, const Found& found) noexcept {
  CountOut(partition, found.location, ItemBytes(found));
  MarkPiecesDead(found);
  MarkRecordDead(found);
  index_.RemoveOnly(partition, found.slot);
}

void ItemTable::RemoveUnread(Partition& partition, Slot& slot, Line line) noexcept {
  PODCACHE_DCHECK(Record(log_.At(slot.location())).kind() == RecordKind::kItem);
  if (line == Line::kMain) partition.main_items.Sub(1);
  index_.RemoveOnly(partition, &slot);
}

// Only the sum over all partitions has a meaning, so one stands for those whose items they were.
std::size_t ItemTable::CountUnread(std::uint32_t segment, std::size_t live_bytes) noexcept {
  const std::size_t counted = log_.segment(segment).live_bytes();
  if (counted <= live_bytes) return 0;
  const std::size_t unread = counted - live_bytes;
  Partition& partition = index_.partition(0);
  SpinLockHolder lock(partition.lock);
  partition.item_bytes.Sub(unread);
  if (log_.LineOf(segment) == Line::kMain) partition.main_item_bytes.Sub(unread);
  log_.MarkDead(log_.LocationOf(segment, 0), unread);
  return unread;
}

void ItemTable::CountReclaimed(Partition& partition, const Found& found) noexcept {
  partition.reclaimed.Add(1);
  if (found.life != Life::kExpired) return;
  partition.expired.Add(1);
  if ((found.header & header::kFetched) == 0) partition.expired_unfetched.Add(1);
}

void ItemTable::Discard(Location location, std::size_t bytes) noexcept {
  Record(log_.At(location)).WritePadding(bytes);
  log_.MarkDead(location, bytes);
}

ItemFields ItemTable::FieldsForCopy(const Found& found) const noexcept {
  ItemFields fields = found.record.Fields(found.header);
  if ((found.header & header::kObserved) != 0) fields.explicit_cas = CasOf(found);
  return fields;
}

void ItemTable::Relocate(Partition& partition, Found& found, const ItemFields& fields,
                         Location fresh) noexcept {
  Record copy(log_.At(fresh));
  copy.WriteItemHead(fields);
  const std::uint64_t h = copy.Header();
  if (fields.kind == RecordKind::kLarge) {
    log_.NoteLarge(fresh);
    const std::size_t entries = std::size_t{fields.pieces} * 8;
    std::memcpy(copy.data() + Record::PiecesOffset(h),
                found.record.data() + Record::PiecesOffset(found.header), entries);
  } else {
    std::memcpy(copy.Value(h), found.record.Value(found.header), fields.value_bytes);
  }
  CountOut(partition, found.location, ItemBytes(found));
  MarkRecordDead(found);
  log_.NoteExptime(fresh, fields.exptime);
  found.slot->SetLocation(fresh);
  found.location = fresh;
  found.record = copy;
  found.header = h;
  CountIn(partition, fresh, ItemBytes(found));
}

void ItemTable::RelocatePiece(Found& owner, std::uint32_t piece, std::uint64_t hash,
                              Location fresh) noexcept {
  const PieceEntry old = owner.record.Piece(owner.header, piece);
  const Record from(log_.At(old.location));
  const std::size_t bytes = from.bytes();
  Record copy(log_.At(fresh));
  copy.WritePieceHeader(bytes, hash);
  log_.NoteLarge(fresh);
  std::memcpy(copy.PieceData(), from.PieceData(), old.bytes);
  owner.record.SetPiece(owner.header, piece, {fresh, old.bytes});
  log_.MarkDead(old.location, bytes);
}

bool ItemTable::OverwriteInPlace(Found& found, const ItemFields& fields,
                                 std::string_view value) noexcept {
  const std::uint64_t h = found.header;
  if (!IsOverwritable(h) || fields.kind != RecordKind::kItem ||
      value.size() > kMaxInPlaceValueBytes)
    return false;
  // A field for the expiry may stay unused.
  const std::uint64_t layout = fields.LayoutBits() | (h & header::kHasExptime);
  const std::size_t wanted =
      RoundToUnit(kHeaderBytes + OptionalBytes(layout) + fields.key.size() + value.size());
  const std::size_t room = Record::BytesOf(h);
  if (layout != (h & header::kLayoutBits) || wanted > room) return false;
  if (wanted * 100 < room * kMinInPlacePercent) return false;
  std::uint64_t fresh =
      Record::WithValueBytes((h & ~header::kStateBits) | fields.state_bits, value.size());
  fresh = Record::WithAccess(fresh, fields.access);
  found.record.SetHeader(fresh);
  found.header = fresh;
  if ((layout & header::kHasExptime) != 0) {
    found.record.SetExptime(fresh, fields.exptime);
    log_.NoteExptime(found.location, fields.exptime);
  }
  if (fields.client_flags != 0) found.record.SetClientFlags(fresh, fields.client_flags);
  StoreValueInPlace(found.record.Value(fresh), value);
  return true;
}

bool ItemTable::SetValueInPlace(Found& found, std::string_view value,
                                std::uint32_t access) noexcept {
  // Nobody has seen the new value yet.
  const std::uint64_t h = found.header & ~header::kFetched;
  if (!IsOverwritable(h) ||
      Record::KeyOffset(h) + Record::KeyBytesOf(h) + value.size() > Record::BytesOf(h))
    return false;
  found.header = Record::WithAccess(Record::WithValueBytes(h, value.size()), access);
  found.record.SetHeader(found.header);
  StoreValueInPlace(found.record.Value(found.header), value);
  return true;
}

void ItemTable::CountIn(Partition& partition, Location location, std::size_t item_bytes) noexcept {
  partition.item_bytes.Add(item_bytes);
  if (log_.LineOf(log_.SegmentOf(location)) != Line::kMain) return;
  partition.main_items.Add(1);
  partition.main_item_bytes.Add(item_bytes);
}

void ItemTable::CountOut(Partition& partition, Location location, std::size_t item_bytes) noexcept {
  partition.item_bytes.Sub(item_bytes);
  if (log_.LineOf(log_.SegmentOf(location)) != Line::kMain) return;
  partition.main_items.Sub(1);
  partition.main_item_bytes.Sub(item_bytes);
}

void ItemTable::MarkPiecesDead(const Found& found) noexcept {
  if (Record::KindOf(found.header) != RecordKind::kLarge) return;
  for (std::uint32_t i = 0; i < Record::PieceCount(found.header); ++i) {
    const Location location = found.record.Piece(found.header, i).location;
    log_.MarkDead(location, Record(log_.At(location)).bytes());
  }
}

void ItemTable::MarkRecordDead(const Found& found) noexcept {
  const std::size_t bytes = Record::BytesOf(found.header);
  // Header and key stay readable for whoever walks the segment; pieces may still be sent from.
  const std::size_t body =
      RoundToUnit(Record::KeyOffset(found.header) + Record::KeyBytesOf(found.header));
  memory::Poison(found.record.data() + body, bytes - body);
  log_.MarkDead(found.location, bytes);
}

}  // namespace podcache::store
