// Reads that tell everything of an item, and leases.
#include <algorithm>

#include "common/base/check.h"
#include "server/store/session.h"

namespace podcache::store {
namespace {

// Whose lease it is that was given before. A made item is empty until its maker writes it.
Lease HeldLease(const ItemMeta& meta) noexcept {
  if (meta.stale) return Lease::kStale;
  return meta.value_bytes == 0 ? Lease::kVivify : Lease::kRecache;
}

void JudgeLease(std::uint64_t header, std::int64_t exptime, const DetailedRead& read,
                ItemMeta& meta) noexcept {
  if (meta.created) {
    meta.won = Lease::kVivify;
  } else if ((header & header::kLeased) != 0) {
    meta.held = HeldLease(meta);
  } else if (meta.stale && read.may_win) {
    meta.won = Lease::kStale;
  } else if (read.recache && exptime != kNeverExpires && exptime < read.recache_before) {
    meta.won = Lease::kRecache;
  }
}

}  // namespace

void StoreSession::GetDetailed(std::span<const DetailedRead> reads, ValueSink& sink,
                               std::span<StoreStatus> statuses) {
  PODCACHE_CHECK(reads.size() <= kMaxBatch && statuses.size() >= reads.size());
  for (const DetailedRead& read : reads) {
    if (read.set_exptime || read.create) impl_->writer.Acquire();
  }
  impl_->ReadDetailedBatch(reads, impl_->store.Now(), sink, statuses.first(reads.size()));
}

StoreStatus StoreSession::Impl::GetDetailLocked(const DetailedRead& read, std::size_t index,
                                                std::uint32_t now, ValueSink& sink) {
  const StoreStatus status =
      RunAt(now, read.key.hash, [&](Partition& partition, Moment moment) NO_THREAD_SAFETY_ANALYSIS {
        return GetDetail(partition, read, index, moment, sink);
      }).status;
  // As for Get.
  return status == StoreStatus::kOutOfMemory && !read.create ? StoreStatus::kNotFound : status;
}

Try StoreSession::Impl::GetDetail(Partition& partition, const DetailedRead& read, std::size_t index,
                                  Moment moment, ValueSink& sink) {
  Found found = FindForRead(partition, read.key, moment);
  ItemMeta meta;
  if (found.missing()) {
    if (!read.create) return {StoreStatus::kNotFound};
    const Try made = CreateLeased(partition, read, moment, found);
    if (made.status != StoreStatus::kStored) return made;
    meta.created = true;
  }
  meta.exptime = found.record.Exptime(found.header);
  if (read.set_exptime && !meta.created) {
    const Try changed = SetExptime(partition, found, StoredExptime(read.exptime), moment);
    if (changed.needed_bytes != 0) return changed;
  }
  meta.client_flags = found.record.ClientFlags(found.header);
  meta.value_bytes = found.record.ValueBytes(found.header);
  meta.stale = (found.header & header::kStale) != 0;
  meta.fetched = (found.header & header::kFetched) != 0;
  meta.idle_seconds = Record::IdleSecondsOf(found.header, moment.now);
  if (read.want_item_bytes) meta.item_bytes = table.ItemBytes(found);
  meta.has_value = read.want_value && !(read.skip_known && store.options().cas &&
                                        table.CasOf(found) == read.known_cas);
  const std::int64_t exptime =
      read.recache_after_set ? found.record.Exptime(found.header) : meta.exptime;
  JudgeLease(found.header, exptime, read, meta);
  if (meta.won != Lease::kNone && (found.header & header::kLeased) == 0) {
    found.header |= header::kLeased;
    found.record.SetHeader(found.header);
  }
  if (read.counts_as_use) MarkUsed(found, moment);
  if (read.want_cas) meta.cas = CasForClient(found);
  return {Deliver(found, index, meta, sink) ? StoreStatus::kOk : StoreStatus::kNotFound};
}

Try StoreSession::Impl::CreateLeased(Partition& partition, const DetailedRead& read, Moment moment,
                                     Found& found) noexcept {
  ItemFields fields;
  fields.key = read.key.bytes;
  fields.exptime = StoredExptime(read.create_exptime);
  fields.explicit_cas = ChosenCas(read.create_cas);
  fields.state_bits = header::kLeased;
  fields.access = AccessStamp(moment.now);
  const Location fresh = NewRecord(fields, moment.epoch, found);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  const Try stored = Finish(partition, read.key.hash, found, fresh, false);
  // It may have expired already.
  if (stored.status == StoreStatus::kStored)
    found = table.Find(partition, read.key.bytes, read.key.hash, moment);
  return stored;
}

}  // namespace podcache::store
