#include "server/store/large_value.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "server/store/store_impl.h"

namespace podcache::store {

LargeUpload::LargeUpload(StoreImpl& store, std::uint64_t hash, std::uint64_t value_bytes) noexcept
    : store_(store), hash_(hash), value_bytes_(value_bytes) {
  // A piece is at least this part of a segment, except the last.
  const std::uint64_t most = value_bytes / store.layout().min_piece_bytes + 2;
  try {
    if (!store.gate().Allow()) return;
    pieces_.reserve(most);
    valid_ = true;
  } catch (const std::bad_alloc&) {
    valid_ = false;
  }
}

LargeUpload::~LargeUpload() {
  SegmentLog& log = store_.log();
  for (const Piece& piece : pieces_) {
    const Reservation& reservation = piece.reservation;
    const Location location = log.LocationOf(reservation.segment, reservation.offset);
    Record(log.At(location)).WritePadding(reservation.bytes);
    log.MarkDead(location, reservation.bytes);
    log.CloseReservation(reservation, reservation.bytes);
  }
}

char* LargeUpload::Data(const Piece& piece) const noexcept {
  const Location location =
      store_.log().LocationOf(piece.reservation.segment, piece.reservation.offset);
  return Record(store_.log().At(location)).PieceData();
}

bool LargeUpload::NextPiece() noexcept {
  const std::uint64_t remaining = value_bytes_ - filled_;
  const std::uint64_t least = std::min<std::uint64_t>(remaining, store_.layout().min_piece_bytes);
  const std::uint64_t most = std::min<std::uint64_t>(remaining, store_.layout().max_piece_bytes);
  if (pieces_.size() == pieces_.capacity()) return false;
  const std::size_t min_bytes = RoundToUnit(kPieceHeaderBytes + static_cast<std::size_t>(least));
  const std::size_t max_bytes = RoundToUnit(kPieceHeaderBytes + static_cast<std::size_t>(most));
  Piece piece;
  piece.reservation = store_.ReserveForPiece(min_bytes, max_bytes);
  if (!piece.reservation.valid()) return false;
  piece.bytes = static_cast<std::uint32_t>(
      std::min<std::uint64_t>(most, piece.reservation.bytes - kPieceHeaderBytes));
  const Location location =
      store_.log().LocationOf(piece.reservation.segment, piece.reservation.offset);
  Record(store_.log().At(location)).WritePieceHeader(piece.reservation.bytes, hash_);
  store_.log().NoteLarge(location);
  pieces_.push_back(piece);
  return true;
}

std::span<char> LargeUpload::Writable() noexcept {
  if (complete()) return {};
  if (!failed_ && (pieces_.empty() || pieces_.back().filled == pieces_.back().bytes))
    failed_ = !NextPiece();
  if (failed_)
    return {swallow_, static_cast<std::size_t>(
                          std::min<std::uint64_t>(sizeof swallow_, value_bytes_ - filled_))};
  const Piece& piece = pieces_.back();
  return {Data(piece) + piece.filled, piece.bytes - piece.filled};
}

void LargeUpload::Advance(std::size_t n) noexcept {
  filled_ += n;
  if (!failed_) pieces_.back().filled += static_cast<std::uint32_t>(n);
}

bool LargeUpload::Append(std::span<const char> bytes) noexcept {
  while (!bytes.empty()) {
    const std::span<char> room = Writable();
    if (failed_) return false;
    const std::size_t n = std::min(room.size(), bytes.size());
    std::memcpy(room.data(), bytes.data(), n);
    Advance(n);
    bytes = bytes.subspan(n);
  }
  return true;
}

void LargeUpload::WriteEntries(Record head) const noexcept {
  const std::uint64_t h = head.Header();
  for (std::uint32_t i = 0; i < pieces_.size(); ++i) {
    const Reservation& reservation = pieces_[i].reservation;
    head.SetPiece(
        h, i, {store_.log().LocationOf(reservation.segment, reservation.offset), pieces_[i].bytes});
  }
}

void LargeUpload::Publish() noexcept {
  for (const Piece& piece : pieces_)
    store_.log().CloseReservation(piece.reservation, piece.reservation.bytes);
  pieces_.clear();
}

std::unique_ptr<PinnedLargeValue> PinnedLargeValue::Create(SegmentLog& log,
                                                           const Found& found) noexcept {
  const std::uint32_t count = Record::PieceCount(found.header);
  std::unique_ptr<iovec[]> pieces(new (std::nothrow) iovec[count]);
  if (pieces == nullptr) return nullptr;
  for (std::uint32_t i = 0; i < count; ++i) {
    const PieceEntry entry = found.record.Piece(found.header, i);
    pieces[i] = {Record(log.At(entry.location)).PieceData(), entry.bytes};
  }
  return std::unique_ptr<PinnedLargeValue>(new (std::nothrow)
                                               PinnedLargeValue(log, std::move(pieces), count));
}

PinnedLargeValue::PinnedLargeValue(SegmentLog& log, std::unique_ptr<iovec[]> pieces,
                                   std::size_t count) noexcept
    : log_(log), pieces_(std::move(pieces)), count_(count) {
  for (const iovec& piece : this->pieces()) {
    log_.PinReader(log_.SegmentAt(static_cast<const char*>(piece.iov_base)));
    size_ += piece.iov_len;
  }
}

PinnedLargeValue::~PinnedLargeValue() {
  for (const iovec& piece : pieces())
    log_.UnpinReader(log_.SegmentAt(static_cast<const char*>(piece.iov_base)));
}

int PinnedLargeValue::FillIovec(std::size_t offset, iovec* out, int max) const noexcept {
  int n = 0;
  for (const iovec& piece : pieces()) {
    if (n == max) break;
    if (offset >= piece.iov_len) {
      offset -= piece.iov_len;
      continue;
    }
    out[n++] = {static_cast<char*>(piece.iov_base) + offset, piece.iov_len - offset};
    offset = 0;
  }
  return n;
}

}  // namespace podcache::store
