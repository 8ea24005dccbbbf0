#include <algorithm>
#include <cstring>
#include <memory>

#include "common/base/check.h"
#include "server/store/session.h"

namespace podcache::store {
namespace {

void CopyValue(const SegmentLog& log, const Found& found, char* to) noexcept {
  const std::uint64_t h = found.header;
  if (Record::KindOf(h) == RecordKind::kItem) {
    std::memcpy(to, found.record.Value(h), found.record.ValueBytes(h));
    return;
  }
  for (std::uint32_t i = 0; i < Record::PieceCount(h); ++i) {
    const PieceEntry piece = found.record.Piece(h, i);
    std::memcpy(to, Record(log.At(piece.location)).PieceData(), piece.bytes);
    to += piece.bytes;
  }
}

}  // namespace

void StoreSession::Get(std::span<const Key> keys, const ReadOptions& options, ValueSink& sink,
                       std::span<StoreStatus> statuses) {
  PODCACHE_CHECK(keys.size() <= kMaxBatch && statuses.size() >= keys.size());
  const std::uint32_t now = impl_->store.Now();
  if (!options.set_exptime) {
    impl_->ReadBatch(keys, options, now, sink, statuses.first(keys.size()));
    return;
  }
  impl_->writer.Acquire();
  std::uint64_t hashes[kMaxBatch];
  std::ranges::transform(keys, hashes, &Key::hash);
  impl_->Fetch({hashes, keys.size()});
  for (std::size_t i = 0; i < keys.size(); ++i)
    statuses[i] = impl_->GetLocked(keys[i], i, options, now, sink);
}

StoreStatus StoreSession::Impl::GetLocked(const Key& key, std::size_t index,
                                          const ReadOptions& options, std::uint32_t now,
                                          ValueSink& sink) {
  const Try result =
      RunAt(now, key.hash, [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
        return GetOne(partition, key, index, moment, options, sink);
      });
  // No room for the expiry that should be set: a cache may forget, but not keep longer than asked.
  return result.status == StoreStatus::kOk ? StoreStatus::kOk : StoreStatus::kNotFound;
}

Try StoreSession::Impl::GetOne(Partition& partition, const Key& key, std::size_t index,
                               Moment moment, const ReadOptions& options, ValueSink& sink) {
  Found found = FindForRead(partition, key, moment);
  if (found.missing()) return {StoreStatus::kNotFound};
  if (options.set_exptime) {
    const Try changed = SetExptime(partition, found, StoredExptime(options.exptime), moment);
    if (changed.needed_bytes != 0) return changed;
  }
  MarkUsed(found, moment);
  ItemMeta meta;
  meta.client_flags = found.record.ClientFlags(found.header);
  if (options.want_cas) meta.cas = CasForClient(found);
  meta.exptime = found.record.Exptime(found.header);
  meta.value_bytes = found.record.ValueBytes(found.header);
  return {Deliver(found, index, meta, sink) ? StoreStatus::kOk : StoreStatus::kNotFound};
}

// False only when a large value cannot be pinned for lack of memory.
bool StoreSession::Impl::Deliver(Found& found, std::size_t index, const ItemMeta& meta,
                                 ValueSink& sink) {
  if (!meta.has_value) {
    sink.Begin(index, meta);
    sink.End(index, meta);
    return true;
  }
  if (meta.value_bytes <= kMaxCopiedValueBytes) {
    CopyValue(table.log(), found, sink.Begin(index, meta));
    sink.End(index, meta);
    return true;
  }
  std::unique_ptr<PinnedLargeValue> pin = PinnedLargeValue::Create(table.log(), found);
  if (pin == nullptr) return false;
  sink.Pinned(index, meta, std::move(pin));
  return true;
}

Try StoreSession::Impl::SetExptime(Partition& partition, Found& found, std::uint32_t exptime,
                                   Moment moment) noexcept {
  if ((found.header & header::kHasExptime) != 0) {
    found.record.SetExptime(found.header, exptime);
    table.log().NoteExptime(found.location, exptime);
    return {StoreStatus::kOk};
  }
  if (exptime == 0) return {StoreStatus::kOk};
  // The record has no room for an expiry: it gets a new place.
  ItemFields fields = table.FieldsForCopy(found);
  fields.exptime = exptime;
  const std::size_t bytes = RecordBytes(fields);
  writer.Select(LifetimeOf(exptime, moment.now));
  const Location fresh = writer.TryAllocate(bytes, moment.epoch);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, bytes};
  table.Relocate(partition, found, fields, fresh);
  return {StoreStatus::kOk};
}

}  // namespace podcache::store
