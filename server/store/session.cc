#include "server/store/session.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace podcache::store {

std::uint32_t StoredExptime(std::int64_t exptime) noexcept {
  if (exptime == kNeverExpires) return 0;
  return static_cast<std::uint32_t>(std::clamp<std::int64_t>(exptime, 1, Segment::kNoExptime - 1));
}

Found StoreSession::Impl::FindLive(Partition& partition, std::string_view key, std::uint64_t hash,
                                   Moment moment) noexcept {
  const Found found = table.Find(partition, key, hash, moment);
  if (found.live() || found.missing()) return found;
  table.CountReclaimed(partition, found);
  table.Remove(partition, found);
  return {};
}

Found StoreSession::Impl::FindForRead(Partition& partition, const Key& key,
                                      Moment moment) noexcept {
  const Found found = table.Find(partition, key.bytes, key.hash, moment);
  if (found.live() || found.missing()) return found;
  counters.Add(found.life == Life::kExpired ? metrics::Counter::kGetExpired
                                            : metrics::Counter::kGetFlushed);
  table.CountReclaimed(partition, found);
  table.Remove(partition, found);
  return {};
}

void StoreSession::Impl::MarkUsed(Found& found, Moment moment) noexcept {
  found.slot->Touch();
  const std::uint64_t used =
      Record::WithAccess(found.header | header::kFetched, AccessStamp(moment.now));
  if (used == found.header) return;
  found.record.SetHeader(used);
  found.header = used;
}

StoreSession::StoreSession(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
StoreSession::~StoreSession() = default;

Key StoreSession::MakeKey(std::string_view bytes) const noexcept {
  return {bytes, impl_->store.hasher().Hash(bytes)};
}

bool StoreSession::has_cas() const noexcept { return impl_->store.options().cas; }

StoreStatus StoreSession::Prepare(const Key& key, std::uint64_t value_bytes,
                                  std::uint32_t client_flags, std::int64_t exptime,
                                  WriteHandle& handle) {
  handle.impl_.reset();
  if (key.bytes.size() + value_bytes > impl_->store.options().max_item_size_bytes)
    return StoreStatus::kTooLarge;
  // It arrives while the value is taken off the input.
  impl_->table.index().FetchBucket(key.hash);
  std::unique_ptr<WriteHandle::Impl> room = std::move(impl_->spare);
  if (room == nullptr && impl_->store.gate().Allow())
    room.reset(new (std::nothrow) WriteHandle::Impl(impl_->store));
  if (room == nullptr || !room->Start(key, value_bytes, client_flags, StoredExptime(exptime))) {
    return StoreStatus::kOutOfMemory;
  }
  handle.impl_ = std::move(room);
  return StoreStatus::kOk;
}

WriteResult StoreSession::Commit(WriteHandle& handle, const WriteOptions& options) {
  PODCACHE_CHECK(handle.valid());
  std::unique_ptr<WriteHandle::Impl> room = std::move(handle.impl_);
  const WriteResult result = impl_->Commit(*room, options);
  // Readers must not get what this value was meant to replace.
  if (options.mode == WriteMode::kSet && result.status == StoreStatus::kOutOfMemory)
    Delete({room->key(), room->hash});
  room->Reset();
  impl_->spare = std::move(room);
  return result;
}

StoreStatus StoreSession::Delete(const Key& key, std::uint64_t compare_cas) {
  return impl_
      ->Run(key.hash,
            [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
              const Found found = impl_->FindLive(partition, key.bytes, key.hash, moment);
              if (found.missing()) return Try{StoreStatus::kNotFound};
              if (!impl_->CasFits(found, compare_cas)) return Try{StoreStatus::kExists};
              impl_->table.Remove(partition, found);
              return Try{StoreStatus::kOk};
            })
      .status;
}

StoreStatus StoreSession::Touch(const Key& key, std::int64_t exptime, ItemMeta* meta) {
  impl_->writer.Acquire();
  return impl_
      ->Run(key.hash,
            [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
              Found found = impl_->FindLive(partition, key.bytes, key.hash, moment);
              if (found.missing()) return Try{StoreStatus::kNotFound};
              const Try changed =
                  impl_->SetExptime(partition, found, StoredExptime(exptime), moment);
              if (changed.needed_bytes != 0) return changed;
              impl_->MarkUsed(found, moment);
              if (meta != nullptr) *meta = impl_->MetaOf(found);
              return changed;
            })
      .status;
}

StoreStatus StoreSession::Invalidate(const Key& key, const InvalidateOptions& options) {
  impl_->writer.Acquire();
  return impl_
      ->Run(key.hash,
            [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
              return impl_->TryInvalidate(partition, key, options, moment);
            })
      .status;
}

ArithmeticResult StoreSession::Arithmetic(const Key& key, const ArithmeticOptions& options) {
  impl_->writer.Acquire();
  ArithmeticResult result;
  result.status = impl_
                      ->Run(key.hash,
                            [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
                              return impl_->TryArithmetic(partition, key, options, moment, result);
                            })
                      .status;
  return result;
}

void StoreSession::EndTurn() noexcept { impl_->writer.Release(); }

}  // namespace podcache::store
