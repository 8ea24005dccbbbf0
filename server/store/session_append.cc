// append and prepend: a new item made of the old value and the new bytes.
#include <cstring>
#include <memory>
#include <new>

#include "server/store/session.h"

namespace podcache::store {
namespace {

// The old value of an item that becomes large: held, while the new one is put together without a
// lock.
struct Base {
  std::uint64_t cas = 0;  // Unchanged as long as the value is.
  std::uint64_t value_bytes = 0;
  std::unique_ptr<char[]> copy;
  std::unique_ptr<PinnedLargeValue> pin;
};

bool Hold(memory::AllocationGate& gate, SegmentLog& log, const Found& found, Base& base) noexcept {
  base.value_bytes = found.record.ValueBytes(found.header);
  if (!gate.Allow()) return false;
  if (Record::KindOf(found.header) == RecordKind::kLarge) {
    base.pin = PinnedLargeValue::Create(log, found);
    return base.pin != nullptr;
  }
  base.copy.reset(new (std::nothrow) char[base.value_bytes]);
  if (base.copy == nullptr) return false;
  std::memcpy(base.copy.get(), found.record.Value(found.header), base.value_bytes);
  return true;
}

bool AppendBase(LargeUpload& upload, const Base& base) noexcept {
  if (base.pin == nullptr)
    return upload.Append({base.copy.get(), static_cast<std::size_t>(base.value_bytes)});
  for (const iovec& piece : base.pin->pieces()) {
    if (!upload.Append({static_cast<const char*>(piece.iov_base), piece.iov_len})) return false;
  }
  return true;
}

// Fields of the old item with another value: flags and exptime stay, the CAS id does not.
ItemFields FieldsForNewValue(const Found& found, std::uint64_t value_bytes,
                             std::uint32_t access) noexcept {
  ItemFields fields = found.record.Fields(found.header);
  fields.kind = RecordKind::kItem;
  fields.pieces = 0;
  fields.explicit_cas = 0;
  fields.state_bits = 0;
  fields.access = access;
  fields.value_bytes = value_bytes;
  return fields;
}

}  // namespace

WriteResult StoreSession::Impl::Concatenate(WriteHandle::Impl& handle,
                                            const WriteOptions& options) {
  for (;;) {
    Base base;
    bool held = false;
    std::uint64_t total = 0;
    const Try small =
        Run(handle.hash, [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
          Found found = FindLive(partition, handle.key(), handle.hash, moment);
          if (found.missing()) return Try{StoreStatus::kNotStored};
          if (!CasFits(found, options.compare_cas)) return Try{StoreStatus::kExists};
          total = found.record.ValueBytes(found.header) + handle.value_bytes;
          if (handle.key_size + total > store.options().max_item_size_bytes)
            return Try{StoreStatus::kTooLarge};
          ItemFields fields = FieldsForNewValue(found, total, AccessStamp(moment.now));
          fields.explicit_cas = ChosenCas(options.set_cas);
          if (RecordBytes(fields) <= store.layout().max_item_record_bytes) {
            return ConcatenateSmall(partition, handle, options, found, fields, moment);
          }
          base.cas = table.ObserveCas(found);
          held = Hold(store.gate(), table.log(), found, base);
          return Try{StoreStatus::kOutOfMemory};
        });
    if (small.status == StoreStatus::kNotStored && options.create) {
      WriteOptions add = options;
      add.mode = WriteMode::kAdd;
      const WriteResult added = StorePlain(handle, add);
      // Meanwhile somebody else has: then there is something to append to.
      if (added.status == StoreStatus::kNotStored) continue;
      return added;
    }
    if (!held) return {small.status, small.value, total};
    // Put together without the lock; if the item changed meanwhile, once more.
    LargeUpload upload(store, handle.hash, base.value_bytes + handle.value_bytes);
    const bool prepend = options.mode == WriteMode::kPrepend;
    if (!upload.valid() || (prepend && !handle.AppendTo(upload)) || !AppendBase(upload, base) ||
        (!prepend && !handle.AppendTo(upload))) {
      return {StoreStatus::kOutOfMemory};
    }
    const Try large = ReplaceUnchanged(handle, options, upload, base.cas);
    if (large.status != StoreStatus::kExists) return {large.status, large.value, total};
  }
}

Try StoreSession::Impl::ConcatenateSmall(Partition& partition, const WriteHandle::Impl& handle,
                                         const WriteOptions& options, const Found& found,
                                         ItemFields& fields, Moment moment) noexcept {
  const Location fresh = NewRecord(fields, moment.epoch, found);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  const Record record(table.log().At(fresh));
  char* const to = record.Value(record.Header());
  const std::string_view old(found.record.Value(found.header),
                             found.record.ValueBytes(found.header));
  const std::string_view addition = handle.staged();
  const bool prepend = options.mode == WriteMode::kPrepend;
  std::memcpy(prepend ? to + addition.size() : to, old.data(), old.size());
  std::memcpy(prepend ? to : to + old.size(), addition.data(), addition.size());
  return Finish(partition, handle.hash, found, fresh, options.want_cas);
}

// kExists if the item is no longer the one with this CAS id.
Try StoreSession::Impl::ReplaceUnchanged(const WriteHandle::Impl& handle,
                                         const WriteOptions& options, LargeUpload& upload,
                                         std::uint64_t cas) {
  const Try result =
      Run(handle.hash, [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
        const Found found = FindLive(partition, handle.key(), handle.hash, moment);
        if (found.missing()) return Try{StoreStatus::kNotStored};
        if (table.CasOf(found) != cas) return Try{StoreStatus::kExists};
        ItemFields fields = FieldsForNewValue(found, upload.value_bytes(), AccessStamp(moment.now));
        fields.kind = RecordKind::kLarge;
        fields.pieces = static_cast<std::uint32_t>(upload.piece_count());
        fields.explicit_cas = ChosenCas(options.set_cas);
        if (RecordBytes(fields) > store.layout().max_head_bytes)
          return Try{StoreStatus::kOutOfMemory};
        const Location fresh = NewRecord(fields, moment.epoch, found);
        if (fresh == kNowhere) return Try{StoreStatus::kOutOfMemory, RecordBytes(fields)};
        upload.WriteEntries(Record(table.log().At(fresh)));
        return Finish(partition, handle.hash, found, fresh, options.want_cas);
      });
  if (result.status == StoreStatus::kStored) upload.Publish();
  return result;
}

}  // namespace podcache::store
