#include <algorithm>
#include <cstring>
#include <optional>

#include "common/base/check.h"
#include "server/store/session.h"

namespace podcache::store {
namespace {

ItemFields FieldsOf(const WholeItem& item) noexcept {
  ItemFields fields;
  fields.key = item.key.bytes;
  fields.client_flags = item.client_flags;
  fields.exptime = StoredExptime(item.exptime);
  fields.value_bytes = item.value.size();
  return fields;
}

// Of a value that does not fit into one record.
StoreStatus SetInPieces(StoreSession& session, const WholeItem& item) {
  WriteHandle handle;
  const StoreStatus status =
      session.Prepare(item.key, item.value.size(), item.client_flags, item.exptime, handle);
  if (status != StoreStatus::kOk) return status;
  const char* from = item.value.data();
  for (std::span<char> room = handle.Writable(); !room.empty(); room = handle.Writable()) {
    std::memcpy(room.data(), from, room.size());
    from += room.size();
    handle.Advance(room.size());
  }
  return session.Commit(handle, {}).status;
}

}  // namespace

void StoreSession::Set(std::span<const WholeItem> items, std::span<StoreStatus> statuses) {
  PODCACHE_CHECK(items.size() <= kMaxBatch && statuses.size() >= items.size());
  Impl& impl = *impl_;
  impl.writer.Acquire();
  const std::uint32_t now = impl.store.Now();
  const std::uint64_t max_item_bytes = impl.store.options().max_item_size_bytes;
  if (items.size() > 1) {
    std::uint64_t hashes[kMaxBatch];
    std::ranges::transform(items, hashes, [](const WholeItem& item) { return item.key.hash; });
    impl.Fetch({hashes, items.size()});
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const WholeItem& item = items[i];
    ItemFields fields = FieldsOf(item);
    fields.access = impl.AccessStamp(now);
    StoreStatus status = StoreStatus::kTooLarge;
    if (item.key.bytes.size() + item.value.size() <= max_item_bytes) {
      const bool fits = RecordBytes(fields) <= impl.store.layout().max_item_record_bytes;
      status = fits ? impl.SetWhole(item, fields, now) : SetInPieces(*this, item);
    }
    if (status != StoreStatus::kStored) [[unlikely]]
      Delete(item.key);
    statuses[i] = status;
  }
}

StoreStatus StoreSession::Impl::SetWhole(const WholeItem& item, ItemFields& fields,
                                         std::uint32_t now) noexcept {
  return RunAt(now, item.key.hash,
               [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
                 // A try before this one may have needed it.
                 fields.explicit_cas = 0;
                 Found found = table.Find(partition, item.key.bytes, item.key.hash, moment);
                 return Put(partition, item.key.hash, found, fields, item.value, nullptr,
                            moment.epoch, false);
               })
      .status;
}

WriteResult StoreSession::Impl::Commit(WriteHandle::Impl& handle, const WriteOptions& options) {
  writer.Acquire();
  if (!handle.complete()) return {};
  if (handle.upload && handle.upload->failed()) return {StoreStatus::kOutOfMemory};
  if (options.mode == WriteMode::kAppend || options.mode == WriteMode::kPrepend)
    return Concatenate(handle, options);
  return StorePlain(handle, options);
}

WriteResult StoreSession::Impl::StorePlain(WriteHandle::Impl& handle, const WriteOptions& options) {
  ItemFields fields;
  fields.key = handle.key();
  fields.explicit_cas = ChosenCas(options.set_cas);
  fields.client_flags = handle.client_flags;
  fields.exptime = handle.exptime;
  fields.value_bytes = handle.value_bytes;
  if (handle.upload) return StoreFields(handle, fields, &*handle.upload, options);
  if (RecordBytes(fields) <= store.layout().max_item_record_bytes)
    return StoreFields(handle, fields, nullptr, options);
  LargeUpload upload(store, handle.hash, handle.value_bytes);
  if (!upload.valid() || !upload.Append(handle.staged())) return {StoreStatus::kOutOfMemory};
  return StoreFields(handle, fields, &upload, options);
}

WriteResult StoreSession::Impl::StoreFields(WriteHandle::Impl& handle, const ItemFields& fields,
                                            LargeUpload* upload, const WriteOptions& options) {
  ItemFields shape = fields;
  if (upload != nullptr) {
    shape.kind = RecordKind::kLarge;
    shape.pieces = static_cast<std::uint32_t>(upload->piece_count());
    if (RecordBytes(shape) > store.layout().max_head_bytes) return {StoreStatus::kOutOfMemory};
  }
  const Try result =
      Run(handle.hash, [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
        return TryStore(partition, handle, shape, upload, options, moment);
      });
  if (result.status == StoreStatus::kStored && upload != nullptr) upload->Publish();
  return {result.status, result.value, fields.value_bytes};
}

Try StoreSession::Impl::TryStore(Partition& partition, WriteHandle::Impl& handle,
                                 const ItemFields& wanted, const LargeUpload* upload,
                                 const WriteOptions& options, Moment moment) noexcept {
  Found found = table.Find(partition, handle.key(), handle.hash, moment);
  const StoreStatus verdict = Precondition(found, options);
  if (verdict != StoreStatus::kStored) return {verdict};
  ItemFields fields = wanted;
  fields.access = AccessStamp(moment.now);
  if (options.mode == WriteMode::kCas && options.stale_if_older &&
      table.CasOf(found) != options.compare_cas) {
    // What is older than what is there lives no longer, and who has the lease keeps it.
    fields.exptime = found.record.Exptime(found.header);
    fields.state_bits = header::kStale | (found.header & header::kLeased);
  }
  return Put(partition, handle.hash, found, fields, handle.staged(), upload, moment.epoch,
             options.want_cas);
}

Try StoreSession::Impl::Put(Partition& partition, std::uint64_t hash, Found& found,
                            ItemFields& fields, std::string_view value, const LargeUpload* upload,
                            std::uint32_t epoch, bool want_cas) noexcept {
  if (found.live() && table.OverwriteInPlace(found, fields, value)) {
    CountStored(partition, Record::BytesOf(found.header));
    return {StoreStatus::kStored, 0, want_cas ? CasForClient(found) : 0};
  }
  const Location fresh = NewRecord(fields, epoch, found);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  Record record(table.log().At(fresh));
  if (upload != nullptr) {
    upload->WriteEntries(record);
  } else {
    std::memcpy(record.Value(record.Header()), value.data(), value.size());
  }
  return Finish(partition, hash, found, fresh, want_cas);
}

StoreStatus StoreSession::Impl::Precondition(const Found& found,
                                             const WriteOptions& options) const noexcept {
  switch (options.mode) {
    case WriteMode::kAdd:
      return found.live() ? StoreStatus::kNotStored : StoreStatus::kStored;
    case WriteMode::kReplace:
      return found.live() ? StoreStatus::kStored : StoreStatus::kNotStored;
    case WriteMode::kCas:
      if (!found.live()) return StoreStatus::kNotFound;
      // Ids handed out before cannot match an item that was rewritten in place: that is done only
      // to items whose id nobody knows.
      if (!store.options().cas) return StoreStatus::kExists;
      return table.CasOf(found) == options.compare_cas ||
                     (options.stale_if_older && options.compare_cas < table.CasOf(found))
                 ? StoreStatus::kStored
                 : StoreStatus::kExists;
    default:
      return StoreStatus::kStored;
  }
}

Location StoreSession::Impl::Allocate(ItemFields& fields, std::uint32_t epoch,
                                      const Found& old) noexcept {
  writer.Select(LifetimeOf(fields.exptime, fields.access));
  const bool known = old.live() && (old.header & (header::kObserved | header::kHasCas)) != 0;
  if (known && fields.explicit_cas == 0 && store.options().cas) {
    const Location next = writer.Peek(RecordBytes(fields), epoch);
    const std::uint64_t old_cas = table.CasOf(old);
    if (next != kNowhere && table.log().PositionOf(next) <= old_cas)
      fields.explicit_cas = table.log().TakePositionAbove(old_cas);
  }
  return writer.TryAllocate(RecordBytes(fields), epoch);
}

Location StoreSession::Impl::NewRecord(ItemFields& fields, std::uint32_t epoch,
                                       const Found& old) noexcept {
  const Location fresh = Allocate(fields, epoch, old);
  if (fresh != kNowhere) Record(table.log().At(fresh)).WriteItemHead(fields);
  return fresh;
}

Try StoreSession::Impl::Finish(Partition& partition, std::uint64_t hash, const Found& old,
                               Location fresh, bool want_cas) noexcept {
  Found stored;
  stored.location = fresh;
  stored.record = Record(table.log().At(fresh));
  stored.header = stored.record.Header();
  if (!old.live() && !old.missing()) table.CountReclaimed(partition, old);
  if (!table.Publish(partition, hash, old, fresh)) {
    table.Discard(fresh, stored.record.bytes());
    return {StoreStatus::kOutOfMemory};
  }
  CountStored(partition, table.ItemBytes(stored));
  return {StoreStatus::kStored, 0, want_cas ? CasForClient(stored) : 0};
}

void StoreSession::Impl::CountStored(Partition& partition, std::size_t bytes) noexcept {
  partition.total_items.Add(1);
  partition.stored_bytes.Add(bytes);
}

std::uint64_t StoreSession::Impl::CasForClient(Found& found) noexcept {
  return store.options().cas ? table.ObserveCas(found) : 0;
}

ItemMeta StoreSession::Impl::MetaOf(Found& found) noexcept {
  ItemMeta meta;
  meta.cas = CasForClient(found);
  meta.client_flags = found.record.ClientFlags(found.header);
  meta.exptime = found.record.Exptime(found.header);
  meta.value_bytes = found.record.ValueBytes(found.header);
  return meta;
}

}  // namespace podcache::store
