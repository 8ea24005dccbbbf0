#include "server/store/write_handle.h"

#include <algorithm>
#include <new>

#include "common/base/check.h"
#include "server/store/store_impl.h"

namespace podcache::store {
namespace {

// Buffers up to this stay with the handle for its next use.
constexpr std::size_t kKeptBufferBytes = std::size_t{16} * 1024;
constexpr std::size_t kMinBufferBytes = 1024;

}  // namespace

bool WriteHandle::Impl::Start(const Key& key, std::uint64_t value_size, std::uint32_t flags,
                              std::uint32_t item_exptime) noexcept {
  PODCACHE_CHECK(key.bytes.size() <= kMaxKeyBytes);
  hash = key.hash;
  value_bytes = value_size;
  filled = 0;
  client_flags = flags;
  exptime = item_exptime;
  key_size = key.bytes.size();
  std::memcpy(key_bytes, key.bytes.data(), key.bytes.size());
  if (value_size <= store.layout().max_staged_bytes)
    return EnsureBuffer(static_cast<std::size_t>(value_size));
  // What a stalled upload may keep from being reclaimed: its bytes and a segment it has only begun.
  const std::uint64_t charge = value_size + store.layout().segment_bytes;
  if (!store.BeginUpload(charge)) return false;
  charged_upload = charge;
  upload.emplace(store, hash, value_size);
  return upload->valid();
}

bool WriteHandle::Impl::EnsureBuffer(std::size_t bytes) noexcept {
  if (buffer != nullptr && bytes <= buffer_bytes) return true;
  DropBuffer();
  const std::size_t wanted = std::max(bytes, kMinBufferBytes);
  if (!store.gate().Allow()) return false;
  buffer.reset(new (std::nothrow) char[wanted]);
  if (buffer == nullptr) return false;
  buffer_bytes = wanted;
  store.ChargeExternal(static_cast<std::int64_t>(wanted));
  return true;
}

void WriteHandle::Impl::DropBuffer() noexcept {
  if (buffer == nullptr) return;
  buffer.reset();
  store.ChargeExternal(-static_cast<std::int64_t>(buffer_bytes));
  buffer_bytes = 0;
}

void WriteHandle::Impl::Reset() noexcept {
  upload.reset();
  if (charged_upload != 0) store.EndUpload(charged_upload);
  charged_upload = 0;
  if (buffer_bytes > kKeptBufferBytes) DropBuffer();
}

bool WriteHandle::Impl::AppendTo(LargeUpload& other) const noexcept {
  if (!upload) return other.Append(staged());
  bool fits = true;
  upload->ForEach([&](std::span<const char> bytes) { fits = fits && other.Append(bytes); });
  return fits;
}

Key WriteHandle::key() const noexcept { return {impl_->key(), impl_->hash}; }
std::uint64_t WriteHandle::value_bytes() const noexcept { return impl_->value_bytes; }
std::int64_t WriteHandle::exptime() const noexcept { return impl_->exptime; }

WriteHandle::WriteHandle() noexcept = default;
WriteHandle::WriteHandle(WriteHandle&&) noexcept = default;
WriteHandle& WriteHandle::operator=(WriteHandle&&) noexcept = default;
WriteHandle::~WriteHandle() = default;

std::span<char> WriteHandle::Writable() noexcept {
  if (impl_->upload) return impl_->upload->Writable();
  return {impl_->buffer.get() + impl_->filled,
          static_cast<std::size_t>(impl_->value_bytes - impl_->filled)};
}

void WriteHandle::Advance(std::size_t n) noexcept {
  if (impl_->upload) {
    impl_->upload->Advance(n);
  } else {
    PODCACHE_DCHECK(n <= impl_->value_bytes - impl_->filled);
    impl_->filled += n;
  }
}

}  // namespace podcache::store
