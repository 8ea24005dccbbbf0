#include "server/store/scan.h"

#include <algorithm>

#include "server/store/store_impl.h"

namespace podcache::store {
namespace {

// Of the index, in one step: some hundred items where it is well filled.
constexpr std::uint64_t kBucketsPerStep = 16;
// Empty partitions are passed over many at a time.
constexpr int kEmptyPartitionsPerStep = 64;

// The access stamp is the low bits of a moment in the past.
std::int64_t AccessTime(std::uint32_t stamp, std::uint32_t now) noexcept {
  const auto mask = static_cast<std::uint32_t>(header::kAccessMask);
  return std::int64_t{now} - std::int64_t{(now - stamp) & mask};
}

}  // namespace

bool StoreImpl::Scan(ScanCursor& cursor, ItemVisitor& visitor) {
  const std::uint32_t now = Now();
  for (int empty = 0; empty < kEmptyPartitionsPerStep; ++empty) {
    if (cursor.partition >= index_.partition_count()) return false;
    if (index_.partition(cursor.partition).items.Read() != 0) {
      ScanStep(cursor, visitor, now);
      return true;
    }
    cursor = {cursor.partition + 1, 0};
  }
  return true;
}

void StoreImpl::ScanStep(ScanCursor& cursor, ItemVisitor& visitor, std::uint32_t now) {
  Partition& partition = index_.partition(cursor.partition);
  SpinLockHolder lock(partition.lock);
  const std::uint64_t buckets = std::max<std::uint64_t>(partition.array().count(), 1);
  // As many tags as fall into the buckets of one step.
  const std::uint64_t tags = std::max<std::uint64_t>(Index::kTags * kBucketsPerStep / buckets, 1);
  const auto end =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(cursor.tag + tags, Index::kTags));
  const Moment moment{now, flush_.epoch()};
  index_.ForEachTag(partition, cursor.tag, end, [&](Slot& slot) NO_THREAD_SAFETY_ANALYSIS {
    Found found = table_.Look(slot, moment);
    if (found.live()) visitor.Visit(ViewOf(found, visitor.wants_cas(), now));
  });
  cursor =
      end == Index::kTags ? ScanCursor{cursor.partition + 1, 0} : ScanCursor{cursor.partition, end};
}

ItemView StoreImpl::ViewOf(Found& found, bool want_cas, std::uint32_t now) noexcept {
  ItemView view;
  view.key = found.record.Key(found.header);
  if (want_cas && options_.cas) view.cas = table_.ObserveCas(found);
  view.exptime = found.record.Exptime(found.header);
  view.last_access_seconds = AccessTime(Record::AccessOf(found.header), now);
  view.item_bytes = table_.ItemBytes(found);
  view.value_bytes = found.record.ValueBytes(found.header);
  view.client_flags = found.record.ClientFlags(found.header);
  view.fetched = (found.header & header::kFetched) != 0;
  return view;
}

}  // namespace podcache::store
