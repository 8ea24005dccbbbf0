#include "common/base/output_buffer.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "common/base/check.h"

namespace podcache {

namespace {
constexpr std::size_t kInitialBytes = 4096;
}  // namespace

OutputBuffer& OutputBuffer::operator=(OutputBuffer&& other) noexcept {
  data_ = std::move(other.data_);
  capacity_ = std::exchange(other.capacity_, 0);
  size_ = std::exchange(other.size_, 0);
  consumed_ = std::exchange(other.consumed_, 0);
  pins_ = std::exchange(other.pins_, {});
  first_pin_ = std::exchange(other.first_pin_, 0);
  return *this;
}

void OutputBuffer::AppendPinned(std::unique_ptr<PinnedBytes> payload) {
  pins_.push_back(Pin{size_, 0, std::move(payload)});
}

void OutputBuffer::Rewind(const Mark& mark) noexcept {
  PODCACHE_DCHECK(mark.bytes <= size_ && mark.bytes >= consumed_ && mark.pins >= first_pin_);
  size_ = mark.bytes;
  pins_.resize(mark.pins);
}

std::size_t OutputBuffer::pinned_bytes() const noexcept {
  std::size_t total = 0;
  for (std::size_t i = first_pin_; i < pins_.size(); ++i) {
    total += pins_[i].payload->size() - pins_[i].consumed;
  }
  return total;
}

int OutputBuffer::FillWithPins(iovec* pieces, int max) const noexcept {
  int count = 0;
  std::size_t position = consumed_;
  for (std::size_t i = first_pin_; i < pins_.size() && count < max; ++i) {
    const Pin& pin = pins_[i];
    if (pin.at > position) {
      pieces[count++] = {data_.get() + position, pin.at - position};
      position = pin.at;
      if (count == max) return count;
    }
    const int filled = pin.payload->FillIovec(pin.consumed, pieces + count, max - count);
    // A payload cut off for lack of pieces must not be followed by what stands behind it.
    std::size_t covered = 0;
    for (int k = 0; k < filled; ++k) covered += pieces[count + k].iov_len;
    count += filled;
    if (covered < pin.payload->size() - pin.consumed) return count;
  }
  if (count < max && position < size_) {
    pieces[count++] = {data_.get() + position, size_ - position};
  }
  return count;
}

void OutputBuffer::ConsumeWithPins(std::size_t n) noexcept {
  while (n > 0) {
    const std::size_t until = first_pin_ < pins_.size() ? pins_[first_pin_].at : size_;
    const std::size_t plain = std::min(n, until - consumed_);
    consumed_ += plain;
    n -= plain;
    if (first_pin_ == pins_.size()) {
      PODCACHE_CHECK(n == 0);
      break;
    }
    Pin& pin = pins_[first_pin_];
    const std::size_t taken = std::min(n, pin.payload->size() - pin.consumed);
    pin.consumed += taken;
    n -= taken;
    if (pin.consumed < pin.payload->size()) break;
    pin.payload.reset();
    ++first_pin_;
  }
  if (consumed_ == size_ && first_pin_ == pins_.size()) Clear();
}

OutputBuffer OutputBuffer::TakeTail() {
  OutputBuffer tail;
  const std::size_t bytes = size_ - consumed_;
  if (bytes > 0) {
    tail.data_.reset(new char[bytes]);
    tail.capacity_ = bytes;
    std::memcpy(tail.data_.get(), data_.get() + consumed_, bytes);
    tail.size_ = bytes;
  }
  for (std::size_t i = first_pin_; i < pins_.size(); ++i) {
    pins_[i].at -= consumed_;
    tail.pins_.push_back(std::move(pins_[i]));
  }
  pins_.resize(first_pin_);
  Clear();
  return tail;
}

void OutputBuffer::Clear() noexcept {
  size_ = 0;
  consumed_ = 0;
  pins_.clear();
  first_pin_ = 0;
}

void OutputBuffer::Grow(std::size_t needed) {
  const std::size_t target = std::max({needed, capacity_ + capacity_ / 2, kInitialBytes});
  std::unique_ptr<char[]> larger(new char[target]);
  if (size_ > 0) std::memcpy(larger.get(), data_.get(), size_);
  data_ = std::move(larger);
  capacity_ = target;
}

}  // namespace podcache
