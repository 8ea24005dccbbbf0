// The bytes of a request that has not come in full, kept by its connection between two reads.
//
// Threads: one owner at a time. Memory: at most twice what is kept, nothing while empty.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <span>

namespace podcache::net {

class InputTail {
 public:
  std::span<const char> bytes() const noexcept {
    return {data_.get() + begin_, capacity_ - begin_};
  }
  std::size_t size() const noexcept { return capacity_ - begin_; }
  bool empty() const noexcept { return capacity_ == begin_; }
  std::size_t capacity_bytes() const noexcept { return capacity_; }

  // `bytes` may be part of what is kept.
  void Assign(std::span<const char> bytes) {
    if (bytes.empty()) return Clear();
    // The end of what is kept already stays where it is, unless little is left of much.
    if (data_ != nullptr && bytes.data() + bytes.size() == data_.get() + capacity_ &&
        bytes.data() >= data_.get() && bytes.size() >= capacity_ / 2) {
      begin_ = static_cast<std::size_t>(bytes.data() - data_.get());
      return;
    }
    std::unique_ptr<char[]> copy(new char[bytes.size()]);
    std::memcpy(copy.get(), bytes.data(), bytes.size());
    data_ = std::move(copy);
    begin_ = 0;
    capacity_ = bytes.size();
  }
  void Clear() noexcept {
    data_.reset();
    begin_ = 0;
    capacity_ = 0;
  }

 private:
  std::unique_ptr<char[]> data_;
  std::size_t begin_ = 0;
  std::size_t capacity_ = 0;  // All of it is filled.
};

}  // namespace podcache::net
