// Taking an item out of use: as a whole, its value, or only its freshness.
#include "server/store/session.h"

namespace podcache::store {
namespace {

// What is left of an item; its key views the old record.
ItemFields FieldsOfRest(const Found& found, const InvalidateOptions& options,
                        std::uint32_t access) noexcept {
  ItemFields fields = found.record.Fields(found.header);
  if (options.drop_value) {
    ItemFields empty;
    empty.key = fields.key;
    empty.client_flags = options.client_flags;
    empty.access = access;
    fields = empty;
  }
  if (options.set_exptime) fields.exptime = StoredExptime(options.exptime);
  fields.state_bits &= header::kFetched;
  if (options.mark_stale) fields.state_bits |= header::kStale;
  return fields;
}

}  // namespace

Try StoreSession::Impl::TryInvalidate(Partition& partition, const Key& key,
                                      const InvalidateOptions& options, Moment moment) noexcept {
  Found found = FindLive(partition, key.bytes, key.hash, moment);
  if (found.missing()) return {StoreStatus::kNotFound};
  if (options.compare && !(store.options().cas && table.CasOf(found) == options.compare_cas))
    return {StoreStatus::kExists};
  if (!options.mark_stale && !options.drop_value) {
    table.Remove(partition, found);
    return {StoreStatus::kOk};
  }
  ItemFields fields = FieldsOfRest(found, options, AccessStamp(moment.now));
  fields.explicit_cas = ChosenCas(options.set_cas);
  // Without its value it is still the item that clients compare with, unless it is stale too.
  if (options.set_cas == 0 && !options.mark_stale && store.options().cas)
    fields.explicit_cas = table.CasOf(found);
  const Location fresh = Allocate(fields, moment.epoch, found);
  if (fresh == kNowhere) return {StoreStatus::kOutOfMemory, RecordBytes(fields)};
  if (!options.drop_value) {
    table.Relocate(partition, found, fields, fresh);
    return {StoreStatus::kOk};
  }
  Record(table.log().At(fresh)).WriteItemHead(fields);
  const Try stored = Finish(partition, key.hash, found, fresh, false);
  return {stored.status == StoreStatus::kStored ? StoreStatus::kOk : stored.status};
}

}  // namespace podcache::store
