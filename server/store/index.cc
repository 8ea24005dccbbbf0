#include "server/store/index.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"
#include "server/memory/pages.h"

namespace podcache::store {
namespace {

// Load, in hundredths, above which an array grows and below which it shrinks; after shrinking it is
// at kTargetLoad.
constexpr std::uint64_t kMaxLoad = 82;
constexpr std::uint64_t kMinLoad = 45;
constexpr std::uint64_t kTargetLoad = 72;
constexpr std::uint32_t kGrowthDivisor = 8;

// Puts an entry into the first free slot from its home on. False when the array is full.
bool Place(Bucket* buckets, std::uint32_t count, std::uint32_t home, const Slot& entry) noexcept {
  std::uint32_t i = home;
  for (std::uint32_t probes = 0; probes < count; ++probes) {
    for (Slot& slot : buckets[i].slots) {
      if (!slot.empty()) continue;
      slot = entry;
      for (std::uint32_t passed = home; passed != i;
           passed = passed + 1 == count ? 0 : passed + 1) {
        ++buckets[passed].passed;
      }
      return true;
    }
    i = i + 1 == count ? 0 : i + 1;
  }
  return false;
}

}  // namespace

Index::Index(std::size_t partitions, memory::MemoryBudget& budget, memory::AllocationGate& gate)
    : budget_(budget),
      gate_(gate),
      page_buckets_(static_cast<std::uint32_t>(memory::PageBytes() / sizeof(Bucket))),
      mask_(partitions - 1),
      partitions_(std::make_unique<Partition[]>(partitions)) {
  PODCACHE_CHECK(std::has_single_bit(partitions));
  budget_.AddIndex(static_cast<std::int64_t>(partitions * sizeof(Partition)));
}

Index::~Index() {
  for (std::size_t i = 0; i <= mask_; ++i) {
    SpinLockHolder lock(partitions_[i].lock);
    Release(partitions_[i].buckets.load(std::memory_order_relaxed), partitions_[i].bucket_count);
  }
  budget_.AddIndex(-static_cast<std::int64_t>((mask_ + 1) * sizeof(Partition)));
}

bool Index::Insert(Partition& partition, std::uint64_t hash, Location location) noexcept {
  const std::uint64_t items = partition.items.Read();
  const std::uint64_t capacity = std::uint64_t{partition.bucket_count} * Bucket::kSlots;
  // Without memory for a larger array the old one is filled to the last slot.
  if ((items + 1) * 100 > capacity * kMaxLoad) Resize(partition, Larger(partition.bucket_count));
  if (partition.bucket_count == 0) return false;
  const std::uint32_t tag = Tag(hash);
  Slot entry;
  entry.Set(tag, 0, location);
  Bucket* const buckets = partition.buckets.load(std::memory_order_relaxed);
  if (!Place(buckets, partition.bucket_count, Home(tag, partition.bucket_count), entry))
    return false;
  partition.items.Add(1);
  return true;
}

void Index::Remove(Partition& partition, std::uint64_t hash, Slot* slot) noexcept {
  const std::uint32_t count = partition.bucket_count;
  Bucket* const buckets = partition.buckets.load(std::memory_order_relaxed);
  const auto offset =
      static_cast<std::size_t>(reinterpret_cast<char*>(slot) - reinterpret_cast<char*>(buckets));
  const auto at = static_cast<std::uint32_t>(offset / sizeof(Bucket));
  for (std::uint32_t i = Home(Tag(hash), count); i != at; i = i + 1 == count ? 0 : i + 1) {
    PODCACHE_DCHECK(buckets[i].passed > 0);
    --buckets[i].passed;
  }
  slot->Clear();
  partition.items.Sub(1);
  const std::uint64_t items = partition.items.Read();
  if (count > page_buckets_ && items * 100 < std::uint64_t{count} * Bucket::kSlots * kMinLoad) {
    const std::uint64_t wanted = items * 100 / (Bucket::kSlots * kTargetLoad) + 1;
    const auto pages = static_cast<std::uint32_t>((wanted + page_buckets_ - 1) / page_buckets_);
    if (pages * page_buckets_ < count) Resize(partition, pages * page_buckets_);
  }
}

std::uint32_t Index::Larger(std::uint32_t count) const noexcept {
  const std::uint32_t grown = count + std::max(page_buckets_, count / kGrowthDivisor);
  return (grown + page_buckets_ - 1) / page_buckets_ * page_buckets_;
}

bool Index::Resize(Partition& partition, std::uint32_t count) noexcept {
  const std::size_t bytes = std::size_t{count} * sizeof(Bucket);
  if (!gate_.Allow()) return false;
  auto* const fresh = reinterpret_cast<Bucket*>(memory::MapPages(bytes));
  if (fresh == nullptr) return false;
  Bucket* const old = partition.buckets.load(std::memory_order_relaxed);
  const std::uint32_t old_count = partition.bucket_count;
  for (std::uint32_t i = 0; i < old_count; ++i) {
    for (const Slot& slot : old[i].slots) {
      if (!slot.empty()) PODCACHE_CHECK(Place(fresh, count, Home(slot.tag(), count), slot));
    }
  }
  partition.buckets.store(fresh, std::memory_order_relaxed);
  partition.bucket_count = count;
  budget_.AddIndex(static_cast<std::int64_t>(bytes));
  slots_.fetch_add(std::uint64_t{count} * Bucket::kSlots, std::memory_order_relaxed);
  Release(old, old_count);
  return true;
}

void Index::Release(Bucket* buckets, std::uint32_t count) noexcept {
  if (buckets == nullptr) return;
  const std::size_t bytes = std::size_t{count} * sizeof(Bucket);
  memory::UnmapPages(reinterpret_cast<char*>(buckets), bytes);
  budget_.AddIndex(-static_cast<std::int64_t>(bytes));
  slots_.fetch_sub(std::uint64_t{count} * Bucket::kSlots, std::memory_order_relaxed);
}

}  // namespace podcache::store
