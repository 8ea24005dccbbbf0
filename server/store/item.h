// How records lie in a segment. A segment is a sequence of records, each a multiple of 8 bytes; the
// first 8 bytes of every record are a header that says how long it is, so a segment can be walked.
//
//   item     header | cas 8? | exptime 4? | client flags 4? | key | value | padding
//   large    header | cas 8? | exptime 4? | client flags 4? | value bytes 8 | key | padding to 8 |
//   piece entries 8 each piece    header | hash of the item's key 8 | bytes of a large value
//   padding  header | nothing
//
// Optional fields are there only when they are needed: an item without expiry, flags and explicit
// CAS costs 8 bytes.
//
// Header bits:  0-1 kind | 2 has exptime | 3 has flags | 4 has cas | 5 fetched | 6 cas observed | 7
// stale | 8 leased | 9-16 key bytes | 17-43 length | 44-63 last access,
// seconds modulo 2^20. Length of an item: 17-31 value bytes, 32-43 record units of 8 bytes. Of
// every other kind: 17-43 record units.
//
// Threads: header, exptime and client flags are atomic words, and a value that is replaced where it
// is goes by atomic operations too (value_copy.h): walkers and readers look while somebody else
// holds the item's partition lock. Which optional fields there are, the key and the record's length
// never change; the rest changes under the partition lock of the item's key only, except that a
// reader without it may note in the header that it was there (NoteUse).
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "common/base/check.h"
#include "server/store/key.h"

namespace podcache::store {

inline constexpr std::size_t kUnitBytes = 8;
// Where a record starts, in units from the start of the reserved range. 0 is nowhere.
using Location = std::uint64_t;
inline constexpr Location kNowhere = 0;
inline constexpr unsigned kLocationBits = 40;

enum class RecordKind : std::uint8_t { kItem = 0, kLarge = 1, kPiece = 2, kPadding = 3 };

namespace header {
inline constexpr std::uint64_t kKindMask = 3;
inline constexpr std::uint64_t kHasExptime = 1U << 2;
inline constexpr std::uint64_t kHasFlags = 1U << 3;
inline constexpr std::uint64_t kHasCas = 1U << 4;
inline constexpr std::uint64_t kFetched = 1U << 5;
// A client knows the item's CAS id: it must not survive a change of the value, nor change without
// one.
inline constexpr std::uint64_t kObserved = 1U << 6;
inline constexpr std::uint64_t kStale = 1U << 7;
// A reader has been asked to renew it.
inline constexpr std::uint64_t kLeased = 1U << 8;
inline constexpr unsigned kKeyShift = 9;
inline constexpr unsigned kValueShift = 17;
inline constexpr unsigned kItemUnitsShift = 32;
inline constexpr unsigned kUnitsShift = 17;
inline constexpr unsigned kAccessShift = 44;
inline constexpr std::uint64_t kValueMask = (1U << 15) - 1;
inline constexpr std::uint64_t kItemUnitsMask = (1U << 12) - 1;
inline constexpr std::uint64_t kUnitsMask = (1U << 27) - 1;
inline constexpr std::uint64_t kAccessMask = (1U << 20) - 1;
// What a whole write of the item ends.
inline constexpr std::uint64_t kStateBits = kFetched | kStale | kLeased;
inline constexpr std::uint64_t kLayoutBits = kHasExptime | kHasFlags | kHasCas;
}  // namespace header

inline constexpr std::size_t kHeaderBytes = 8;
// Largest record of the kind `item`.
inline constexpr std::size_t kMaxItemRecordBytes = std::size_t{16} * 1024;
static_assert(kMaxItemRecordBytes <= header::kValueMask);
static_assert(kMaxItemRecordBytes / kUnitBytes <= header::kItemUnitsMask);
static_assert(kMaxKeyBytes < 256);

constexpr std::size_t RoundToUnit(std::size_t bytes) noexcept {
  return (bytes + kUnitBytes - 1) / kUnitBytes * kUnitBytes;
}

// One piece of a large value, packed: location and length.
struct PieceEntry {
  Location location = kNowhere;
  std::uint32_t bytes = 0;

  static constexpr unsigned kLengthBits = 64 - kLocationBits;
  std::uint64_t Pack() const noexcept { return (location << kLengthBits) | bytes; }
  static PieceEntry Unpack(std::uint64_t word) noexcept {
    return {word >> kLengthBits, static_cast<std::uint32_t>(word & ((1U << kLengthBits) - 1))};
  }
};
inline constexpr std::size_t kPieceHeaderBytes = kHeaderBytes + 8;

// Everything needed to lay out an item or the head of a large one.
struct ItemFields {
  RecordKind kind = RecordKind::kItem;
  std::string_view key;
  std::uint32_t client_flags = 0;
  std::uint32_t exptime = 0;
  bool keep_exptime_field = false;  // Also when exptime is 0.
  std::uint64_t explicit_cas = 0;   // 0: the id is the log position.
  std::uint64_t state_bits = 0;     // kStateBits, kObserved.
  std::uint32_t access = 0;
  std::uint64_t value_bytes = 0;
  std::uint32_t pieces = 0;  // kLarge only.

  std::uint64_t LayoutBits() const noexcept {
    return (exptime != 0 || keep_exptime_field ? header::kHasExptime : 0) |
           (client_flags != 0 ? header::kHasFlags : 0) | (explicit_cas != 0 ? header::kHasCas : 0);
  }
};

// Bytes of the optional fields.
constexpr std::size_t OptionalBytes(std::uint64_t bits) noexcept {
  // 4, 4 and 8 by shifting bits 2, 3 and 4: no branches.
  static_assert(header::kHasExptime == 4 && header::kHasFlags == 8 && header::kHasCas == 16);
  return (bits & header::kHasExptime) + ((bits & (header::kHasFlags | header::kHasCas)) >> 1);
}

inline std::size_t RecordBytes(const ItemFields& fields) noexcept {
  const std::size_t fixed = kHeaderBytes + OptionalBytes(fields.LayoutBits()) + fields.key.size();
  if (fields.kind == RecordKind::kLarge)
    return RoundToUnit(fixed + 8) + std::size_t{fields.pieces} * 8;
  return RoundToUnit(fixed + static_cast<std::size_t>(fields.value_bytes));
}

// A view of one record. Copyable, owns nothing.
class Record {
 public:
  explicit Record(char* p) noexcept : p_(p) {}

  std::uint64_t Header() const noexcept { return Word().load(std::memory_order_relaxed); }
  void SetHeader(std::uint64_t value) noexcept { Word().store(value, std::memory_order_relaxed); }
  // Without a lock, by who has read the header `h`: only if it is still that.
  void NoteUse(std::uint64_t h, std::uint64_t used) noexcept {
    Word().compare_exchange_strong(h, used, std::memory_order_relaxed);
  }

  static RecordKind KindOf(std::uint64_t h) noexcept {
    return static_cast<RecordKind>(h & header::kKindMask);
  }
  static std::size_t BytesOf(std::uint64_t h) noexcept {
    return kUnitBytes *
           static_cast<std::size_t>(KindOf(h) == RecordKind::kItem
                                        ? (h >> header::kItemUnitsShift) & header::kItemUnitsMask
                                        : (h >> header::kUnitsShift) & header::kUnitsMask);
  }
  RecordKind kind() const noexcept { return KindOf(Header()); }
  std::size_t bytes() const noexcept { return BytesOf(Header()); }
  char* data() const noexcept { return p_; }

  // Items and large items.
  static std::size_t KeyBytesOf(std::uint64_t h) noexcept {
    return (h >> header::kKeyShift) & 0xff;
  }
  static std::size_t KeyOffset(std::uint64_t h) noexcept {
    return ItemKeyOffset(h) + (KindOf(h) == RecordKind::kLarge ? 8U : 0U);
  }
  std::string_view Key(std::uint64_t h) const noexcept {
    return {p_ + KeyOffset(h), KeyBytesOf(h)};
  }
  std::uint32_t Exptime(std::uint64_t h) const noexcept {
    return (h & header::kHasExptime) != 0 ? ExptimeWord(h).load(std::memory_order_relaxed) : 0;
  }
  // The record must have the field.
  void SetExptime(std::uint64_t h, std::uint32_t exptime) noexcept {
    ExptimeWord(h).store(exptime, std::memory_order_relaxed);
  }
  std::uint32_t ClientFlags(std::uint64_t h) const noexcept {
    return (h & header::kHasFlags) != 0 ? FlagsWord(h).load(std::memory_order_relaxed) : 0;
  }
  // The record must have the field.
  void SetClientFlags(std::uint64_t h, std::uint32_t flags) noexcept {
    FlagsWord(h).store(flags, std::memory_order_relaxed);
  }
  std::uint64_t ExplicitCas(std::uint64_t h) const noexcept {
    return (h & header::kHasCas) != 0 ? Load<std::uint64_t>(kHeaderBytes) : 0;
  }
  std::uint64_t ValueBytes(std::uint64_t h) const noexcept {
    if (KindOf(h) == RecordKind::kLarge) return Load<std::uint64_t>(KeyOffset(h) - 8);
    return ItemValueBytes(h);
  }
  static std::uint32_t AccessOf(std::uint64_t h) noexcept {
    return static_cast<std::uint32_t>(h >> header::kAccessShift);
  }
  // Since the last use. The clock may have been set back a little meanwhile.
  static std::uint32_t IdleSecondsOf(std::uint64_t h, std::uint32_t now) noexcept {
    constexpr std::uint32_t kClockSlackSeconds = 3600;
    const auto mask = static_cast<std::uint32_t>(header::kAccessMask);
    const std::uint32_t idle = (now - AccessOf(h)) & mask;
    return idle > mask - kClockSlackSeconds ? 0 : idle;
  }

  // Items only.
  static std::size_t ItemKeyOffset(std::uint64_t h) noexcept {
    return kHeaderBytes + OptionalBytes(h);
  }
  static std::size_t ItemValueBytes(std::uint64_t h) noexcept {
    return (h >> header::kValueShift) & header::kValueMask;
  }
  char* Value(std::uint64_t h) const noexcept { return p_ + KeyOffset(h) + KeyBytesOf(h); }
  static std::uint64_t WithValueBytes(std::uint64_t h, std::uint64_t value_bytes) noexcept {
    return (h & ~(header::kValueMask << header::kValueShift)) |
           (value_bytes << header::kValueShift);
  }
  static std::uint64_t WithAccess(std::uint64_t h, std::uint32_t access) noexcept {
    return (h & ~(header::kAccessMask << header::kAccessShift)) |
           ((std::uint64_t{access} & header::kAccessMask) << header::kAccessShift);
  }

  // Large items only.
  static std::size_t PiecesOffset(std::uint64_t h) noexcept {
    return RoundToUnit(KeyOffset(h) + KeyBytesOf(h));
  }
  static std::uint32_t PieceCount(std::uint64_t h) noexcept {
    return static_cast<std::uint32_t>((BytesOf(h) - PiecesOffset(h)) / 8);
  }
  PieceEntry Piece(std::uint64_t h, std::uint32_t i) const noexcept {
    return PieceEntry::Unpack(Load<std::uint64_t>(PiecesOffset(h) + std::size_t{i} * 8));
  }
  void SetPiece(std::uint64_t h, std::uint32_t i, PieceEntry entry) noexcept {
    Store(PiecesOffset(h) + std::size_t{i} * 8, entry.Pack());
  }

  // Pieces only.
  std::uint64_t PieceHash() const noexcept { return Load<std::uint64_t>(kHeaderBytes); }
  char* PieceData() const noexcept { return p_ + kPieceHeaderBytes; }

  // The writers of whole records. `bytes` is a multiple of the unit.
  void WritePadding(std::size_t bytes) noexcept {
    SetHeader(OtherHeader(RecordKind::kPadding, bytes));
  }
  void WritePieceHeader(std::size_t bytes, std::uint64_t hash) noexcept {
    SetHeader(OtherHeader(RecordKind::kPiece, bytes));
    Store(kHeaderBytes, hash);
  }
  // Everything but the value or the piece entries.
  void WriteItemHead(const ItemFields& fields) noexcept {
    const std::size_t bytes = RecordBytes(fields);
    std::uint64_t h = fields.LayoutBits() | fields.state_bits |
                      (std::uint64_t{fields.key.size()} << header::kKeyShift);
    h = fields.kind == RecordKind::kItem ? h | (fields.value_bytes << header::kValueShift) |
                                               ((bytes / kUnitBytes) << header::kItemUnitsShift)
                                         : h | OtherHeader(fields.kind, bytes);
    h = WithAccess(h, fields.access);
    SetHeader(h);
    if (fields.explicit_cas != 0) Store(kHeaderBytes, fields.explicit_cas);
    if ((h & header::kHasExptime) != 0) SetExptime(h, fields.exptime);
    if ((h & header::kHasFlags) != 0) Store(FlagsOffset(h), fields.client_flags);
    if (fields.kind == RecordKind::kLarge) Store(KeyOffset(h) - 8, fields.value_bytes);
    std::memcpy(p_ + KeyOffset(h), fields.key.data(), fields.key.size());
  }
  // What is needed to write the record again elsewhere. The key views this record.
  ItemFields Fields(std::uint64_t h) const noexcept {
    ItemFields fields;
    fields.kind = KindOf(h);
    fields.key = Key(h);
    fields.client_flags = ClientFlags(h);
    fields.exptime = Exptime(h);
    fields.keep_exptime_field = (h & header::kHasExptime) != 0;
    fields.explicit_cas = ExplicitCas(h);
    fields.state_bits = h & (header::kStateBits | header::kObserved);
    fields.access = AccessOf(h);
    fields.value_bytes = ValueBytes(h);
    if (fields.kind == RecordKind::kLarge) fields.pieces = PieceCount(h);
    return fields;
  }

 private:
  std::atomic_ref<std::uint64_t> Word() const noexcept {
    return std::atomic_ref<std::uint64_t>(*reinterpret_cast<std::uint64_t*>(p_));
  }
  std::atomic_ref<std::uint32_t> ExptimeWord(std::uint64_t h) const noexcept {
    return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(p_ + ExptimeOffset(h)));
  }
  std::atomic_ref<std::uint32_t> FlagsWord(std::uint64_t h) const noexcept {
    return std::atomic_ref<std::uint32_t>(*reinterpret_cast<std::uint32_t*>(p_ + FlagsOffset(h)));
  }
  static std::uint64_t OtherHeader(RecordKind kind, std::size_t bytes) noexcept {
    return static_cast<std::uint64_t>(kind) | ((bytes / kUnitBytes) << header::kUnitsShift);
  }
  static std::size_t ExptimeOffset(std::uint64_t h) noexcept {
    return kHeaderBytes + ((h & header::kHasCas) != 0 ? 8U : 0U);
  }
  static std::size_t FlagsOffset(std::uint64_t h) noexcept {
    return ExptimeOffset(h) + ((h & header::kHasExptime) != 0 ? 4U : 0U);
  }
  template <class T>
  T Load(std::size_t offset) const noexcept {
    T value;
    std::memcpy(&value, p_ + offset, sizeof value);
    return value;
  }
  template <class T>
  void Store(std::size_t offset, T value) noexcept {
    std::memcpy(p_ + offset, &value, sizeof value);
  }

  char* p_;
};

}  // namespace podcache::store
