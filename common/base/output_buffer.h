// The bytes of replies on their way to a socket: one contiguous area that encoders append to, with
// large values left where they are and referred to in between.
//
// A worker owns one for the turn; what a send leaves over is moved to the connection with
// TakeTail(). Threads: one owner at a time, no lock. Ownership: pinned payloads are owned until
// they are written or the buffer is cleared.
#pragma once

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "common/base/check.h"

namespace podcache {

// A large value that stays where it is until it is written. The destructor unpins it.
class PinnedBytes {
 public:
  virtual ~PinnedBytes() = default;
  virtual std::size_t size() const noexcept = 0;
  // Fills at most `max` pieces starting at byte `offset`; returns how many.
  virtual int FillIovec(std::size_t offset, iovec* pieces, int max) const noexcept = 0;
};

class OutputBuffer {
 public:
  OutputBuffer() = default;
  OutputBuffer(OutputBuffer&& other) noexcept { *this = std::move(other); }
  // The source becomes empty.
  OutputBuffer& operator=(OutputBuffer&& other) noexcept;

  // Returns room for at least n bytes; only the first `Commit`ted ones become part of the output.
  // The pointer is valid until the next non-const call.
  char* Reserve(std::size_t n) {
    if (capacity_ - size_ < n) Grow(size_ + n);
    return data_.get() + size_;
  }
  void Commit(std::size_t n) noexcept {
    PODCACHE_DCHECK(n <= capacity_ - size_);
    size_ += n;
  }
  void Append(std::string_view bytes) {
    if (bytes.empty()) return;
    std::memcpy(Reserve(bytes.size()), bytes.data(), bytes.size());
    Commit(bytes.size());
  }
  void AppendPinned(std::unique_ptr<PinnedBytes> payload);

  // A position to come back to: a torn read or a failed command takes its partial reply back.
  // Pinned payloads after the mark are released.
  struct Mark {
    std::size_t bytes;
    std::size_t pins;
  };
  Mark GetMark() const noexcept { return {size_, pins_.size()}; }
  void Rewind(const Mark& mark) noexcept;

  // Bytes not yet consumed, pinned ones included.
  std::size_t pending_bytes() const noexcept {
    return size_ - consumed_ + (pins_.empty() ? 0 : pinned_bytes());
  }
  bool empty() const noexcept { return pending_bytes() == 0; }
  // Pieces for writev; `max` at most IOV_MAX.
  int FillIovec(iovec* pieces, int max) const noexcept {
    if (!pins_.empty()) return FillWithPins(pieces, max);
    if (consumed_ == size_ || max == 0) return 0;
    pieces[0] = {data_.get() + consumed_, size_ - consumed_};
    return 1;
  }
  // The kernel took n bytes.
  void Consume(std::size_t n) noexcept {
    if (!pins_.empty()) return ConsumeWithPins(n);
    PODCACHE_CHECK(n <= size_ - consumed_);
    consumed_ += n;
    if (consumed_ == size_) size_ = consumed_ = 0;
  }
  // Moves what is pending into a buffer sized for it; this one becomes empty and keeps its
  // capacity.
  OutputBuffer TakeTail();
  void Clear() noexcept;
  // Memory held, for the budget.
  std::size_t capacity_bytes() const noexcept { return capacity_; }

 private:
  struct Pin {
    std::size_t at = 0;  // Position in the contiguous bytes before which the payload goes.
    std::size_t consumed = 0;
    std::unique_ptr<PinnedBytes> payload;
  };
  void Grow(std::size_t needed);
  int FillWithPins(iovec* pieces, int max) const noexcept;
  void ConsumeWithPins(std::size_t n) noexcept;
  std::size_t pinned_bytes() const noexcept;

  std::unique_ptr<char[]> data_;
  std::size_t capacity_ = 0;
  std::size_t size_ = 0;
  std::size_t consumed_ = 0;  // Of the contiguous bytes.
  std::vector<Pin> pins_;
  std::size_t first_pin_ = 0;
};

}  // namespace podcache
