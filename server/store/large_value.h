// Values too large for one record: filled piece by piece while they arrive, read as a pin.
//
// Threads: an upload belongs to whoever fills it; a pin may be released on any thread.
// Ownership: both borrow the store's memory and must be gone before the store.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "common/base/output_buffer.h"
#include "server/store/item_table.h"

namespace podcache::store {

class StoreImpl;

// Pieces being filled. Their segments are held until Publish or destruction.
class LargeUpload {
 public:
  // Check valid() afterwards: memory for the bookkeeping may be missing.
  LargeUpload(StoreImpl& store, std::uint64_t hash, std::uint64_t value_bytes) noexcept;
  ~LargeUpload();
  LargeUpload(const LargeUpload&) = delete;
  LargeUpload& operator=(const LargeUpload&) = delete;

  bool valid() const noexcept { return valid_; }
  // Room ran out midway: bytes are swallowed and the upload cannot be published.
  bool failed() const noexcept { return failed_; }
  bool complete() const noexcept { return filled_ == value_bytes_; }
  std::uint64_t value_bytes() const noexcept { return value_bytes_; }
  std::span<char> Writable() noexcept;
  void Advance(std::size_t n) noexcept;
  // Copies in; false when room ran out.
  bool Append(std::span<const char> bytes) noexcept;
  std::size_t piece_count() const noexcept { return pieces_.size(); }
  void WriteEntries(Record head) const noexcept;
  // The pieces now belong to a published item.
  void Publish() noexcept;
  // Visits what was filled, in order.
  template <class Visit>
  void ForEach(Visit&& visit) const {
    for (const Piece& piece : pieces_) visit(std::span<const char>(Data(piece), piece.filled));
  }

 private:
  struct Piece {
    Reservation reservation;
    std::uint32_t bytes = 0;  // Of value it has room for.
    std::uint32_t filled = 0;
  };
  bool NextPiece() noexcept;
  char* Data(const Piece& piece) const noexcept;

  StoreImpl& store_;
  std::uint64_t hash_;
  std::uint64_t value_bytes_;
  std::uint64_t filled_ = 0;
  bool valid_ = false;
  bool failed_ = false;
  std::vector<Piece> pieces_;
  char swallow_[512];
};

// The pieces of one large value, held where they are.
class PinnedLargeValue final : public PinnedBytes {
 public:
  // Under the partition lock of the item. nullptr without memory.
  static std::unique_ptr<PinnedLargeValue> Create(SegmentLog& log, const Found& found) noexcept;
  ~PinnedLargeValue() override;

  std::size_t size() const noexcept override { return size_; }
  int FillIovec(std::size_t offset, iovec* pieces, int max) const noexcept override;
  std::span<const iovec> pieces() const noexcept { return {pieces_.get(), count_}; }

 private:
  PinnedLargeValue(SegmentLog& log, std::unique_ptr<iovec[]> pieces, std::size_t count) noexcept;

  SegmentLog& log_;
  std::unique_ptr<iovec[]> pieces_;
  std::size_t count_;
  std::size_t size_ = 0;
};

}  // namespace podcache::store
