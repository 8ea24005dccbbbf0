// What a WriteHandle holds: the fields of the item to be, and its value in a buffer of its own
// (small) or in pieces in the log (large).
//
// Threads: one owner at a time.
// Ownership: buffer and upload are charged to the budget until the handle is gone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <span>
#include <string_view>

#include "server/store/key.h"
#include "server/store/large_value.h"
#include "server/store/store.h"

namespace podcache::store {

struct WriteHandle::Impl {
  explicit Impl(StoreImpl& owner) noexcept : store(owner) {}
  ~Impl() {
    Reset();
    DropBuffer();
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  // False without memory.
  bool Start(const Key& key, std::uint64_t value_size, std::uint32_t flags,
             std::uint32_t item_exptime) noexcept;
  // Back to holding nothing but a small buffer for the next use.
  void Reset() noexcept;

  std::string_view key() const noexcept { return {key_bytes, key_size}; }
  bool complete() const noexcept { return upload ? upload->complete() : filled == value_bytes; }
  // The value of one that has no upload.
  std::string_view staged() const noexcept {
    return {buffer.get(), static_cast<std::size_t>(value_bytes)};
  }
  // Copies the value; false when room ran out.
  bool AppendTo(LargeUpload& other) const noexcept;

  StoreImpl& store;
  std::uint64_t hash = 0;
  std::uint64_t value_bytes = 0;
  std::uint64_t filled = 0;  // Of the buffer.
  std::uint64_t charged_upload = 0;
  std::uint32_t client_flags = 0;
  std::uint32_t exptime = 0;
  std::size_t key_size = 0;
  std::size_t buffer_bytes = 0;
  std::unique_ptr<char[]> buffer;
  std::optional<LargeUpload> upload;
  char key_bytes[kMaxKeyBytes];

 private:
  bool EnsureBuffer(std::size_t bytes) noexcept;
  void DropBuffer() noexcept;
};

}  // namespace podcache::store
