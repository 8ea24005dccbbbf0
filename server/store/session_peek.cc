#include "server/store/session.h"

namespace podcache::store {

Glimpse StoreSession::Peek(const Key& key) noexcept {
  const std::uint32_t now = impl_->store.Now();
  Partition& partition = impl_->table.PartitionOf(key.hash);
  SpinLockHolder lock(partition.lock);
  const Found found =
      impl_->table.Find(partition, key.bytes, key.hash, {now, impl_->table.flush().epoch()});
  if (found.missing()) return {};
  Glimpse glimpse;
  glimpse.presence = found.live()                   ? Presence::kLive
                     : found.life == Life::kExpired ? Presence::kExpired
                                                    : Presence::kFlushed;
  glimpse.value_bytes = found.record.ValueBytes(found.header);
  glimpse.exptime = found.record.Exptime(found.header);
  return glimpse;
}

}  // namespace podcache::store
