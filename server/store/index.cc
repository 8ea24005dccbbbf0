#include "server/store/index.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"
#include "server/memory/pages.h"

namespace podcache::store {
namespace {

// Load, in hundredths, above which an array grows and below which it shrinks; after shrinking it is
// at kTargetLoad.
constexpr std::uint64_t kMaxLoad = 92;
constexpr std::uint64_t kMinLoad = 45;
constexpr std::uint64_t kTargetLoad = 84;
constexpr std::uint32_t kGrowthDivisor = 24;

// Anew, when buckets have become others.
void CountGhosts(Partition& partition, BucketArray array) noexcept {
  partition.ghosts.Sub(partition.ghosts.Read());
  for (std::uint32_t i = 0; i < array.count(); ++i) partition.ghosts.Add(array[i].ghosts.count());
}

// Puts an entry into the first free slot from its home on. False when the array is full.
bool Place(BucketArray array, Slot::Word entry) noexcept {
  const std::uint32_t home = array.Home(Slot::TagOf(entry));
  std::uint32_t i = home;
  for (std::uint32_t probes = 0; probes < array.count(); ++probes) {
    for (Slot& slot : array[i].slots) {
      if (!slot.empty()) continue;
      slot.Store(entry);
      for (std::uint32_t passed = home; passed != i; passed = array.After(passed))
        array[passed].AddPassed(1);
      return true;
    }
    i = array.After(i);
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
  for (std::size_t i = 0; i <= mask_; ++i) Release(partitions_[i].array());
  FreeRetired();
  budget_.AddIndex(-static_cast<std::int64_t>((mask_ + 1) * sizeof(Partition)));
}

bool Index::Insert(Partition& partition, std::uint64_t hash, Location location) noexcept {
  const std::uint64_t items = partition.items.Read();
  const std::uint32_t count = partition.array().count();
  // Without memory for a larger array the old one is filled to the last slot.
  if ((items + 1) * 100 > std::uint64_t{count} * Bucket::kSlots * kMaxLoad)
    Resize(partition, Larger(count));
  const BucketArray array = partition.array();
  if (array.count() == 0) return false;
  const std::uint32_t tag = Tag(hash);
  const bool known = array[array.Home(tag)].ghosts.Take(Ghosts::PrintOf(tag));
  if (known) partition.ghosts.Sub(1);
  if (!Place(array, Slot::Pack(tag, known ? 1 : 0, location))) return false;
  partition.items.Add(1);
  return true;
}

void Index::RemoveOnly(Partition& partition, Slot* slot) noexcept {
  const BucketArray array = partition.array();
  const auto offset = static_cast<std::size_t>(reinterpret_cast<char*>(slot) -
                                               reinterpret_cast<char*>(array.buckets()));
  const auto at = static_cast<std::uint32_t>(offset / sizeof(Bucket));
  for (std::uint32_t i = array.Home(slot->tag()); i != at; i = array.After(i)) {
    PODCACHE_DCHECK(array[i].has_passed());
    array[i].AddPassed(-1U);
  }
  slot->Clear();
  partition.items.Sub(1);
}

void Index::ShrinkToFit(Partition& partition) noexcept {
  const std::uint32_t count = partition.array().count();
  const std::uint64_t items = partition.items.Read();
  if (count <= page_buckets_ || items * 100 >= std::uint64_t{count} * Bucket::kSlots * kMinLoad)
    return;
  const std::uint32_t fitting = Fitting(items);
  if (fitting < count) Resize(partition, fitting);
}

std::uint32_t Index::Fitting(std::uint64_t items) const noexcept {
  const std::uint64_t wanted = items * 100 / (Bucket::kSlots * kTargetLoad) + 1;
  return static_cast<std::uint32_t>((wanted + page_buckets_ - 1) / page_buckets_ * page_buckets_);
}

std::uint64_t Index::BytesWith(std::uint64_t items) const noexcept {
  const std::uint64_t now = slots() / Bucket::kSlots * sizeof(Bucket);
  if (items * 100 >= slots() * kMinLoad) return now;
  const std::uint64_t each = Fitting(items / partition_count());
  return std::min(now, each * sizeof(Bucket) * partition_count());
}

void Index::AddGhost(Partition& partition, std::uint32_t tag) noexcept {
  const BucketArray array = partition.array();
  if (array.count() == 0) return;
  Ghosts& ghosts = array[array.Home(tag)].ghosts;
  // One more, unless the oldest makes way for it.
  if (!ghosts.full()) partition.ghosts.Add(1);
  ghosts.Add(Ghosts::PrintOf(tag));
}

std::uint32_t Index::Larger(std::uint32_t count) const noexcept {
  const std::uint32_t grown = count + std::max(page_buckets_, count / kGrowthDivisor);
  return (grown + page_buckets_ - 1) / page_buckets_ * page_buckets_;
}

// Counted from here on. Without buckets if there is no memory.
BucketArray Index::NewArray(std::uint32_t count) noexcept {
  auto* const pages =
      reinterpret_cast<Bucket*>(memory::MapPages(std::size_t{count} * sizeof(Bucket)));
  if (pages == nullptr) return {};
  const BucketArray fresh(pages, count);
  PODCACHE_CHECK(fresh.buckets() == pages);
  budget_.AddIndex(static_cast<std::int64_t>(fresh.bytes()));
  slots_.fetch_add(std::uint64_t{count} * Bucket::kSlots, std::memory_order_relaxed);
  return fresh;
}

Bucket* Index::Adopt(Partition& partition, std::uint32_t count) noexcept {
  const BucketArray fresh = NewArray(count);
  partition.array_word.store(fresh.word(), std::memory_order_release);
  return fresh.buckets();
}

void Index::Drop(Partition& partition) noexcept {
  Release(BucketArray(partition.array_word.exchange(0)));
}

bool Index::Resize(Partition& partition, std::uint32_t count) noexcept {
  if (count > BucketArray::kMaxBuckets || !gate_.Allow()) return false;
  const BucketArray fresh = NewArray(count);
  if (fresh.count() == 0) return false;
  // Entries go to all of it.
  memory::TakePages(reinterpret_cast<char*>(fresh.buckets()), fresh.bytes());
  const BucketArray old = partition.array();
  for (std::uint32_t i = 0; i < old.count(); ++i) {
    for (const Slot& slot : old[i].slots) {
      if (!slot.empty()) PODCACHE_CHECK(Place(fresh, slot.word()));
    }
    // A fingerprint alone does not say whose of two buckets it is now: half of them are lost.
    const auto home = static_cast<std::uint32_t>(std::uint64_t{i} * count / old.count());
    fresh[home].ghosts = old[i].ghosts;
  }
  CountGhosts(partition, fresh);
  partition.resizes.Add(1);
  partition.array_word.store(fresh.word(), std::memory_order_release);
  Retire(old);
  return true;
}

void Index::Retire(BucketArray array) noexcept {
  if (array.count() == 0) return;
  slots_.fetch_sub(std::uint64_t{array.count()} * Bucket::kSlots, std::memory_order_relaxed);
  MutexLock lock(retired_mutex_);
  // Does not happen unless many partitions grow while one reader is kept off the CPU.
  for (Backoff backoff; retired_count_ == kMaxRetired; backoff.Wait()) FreeRetiredLocked();
  retired_[retired_count_++] = {array, epochs_.Retire()};
  // Mostly nobody is reading at this moment.
  FreeRetiredLocked();
}

void Index::FreeRetired() noexcept {
  MutexLock lock(retired_mutex_);
  FreeRetiredLocked();
}

void Index::FreeRetiredLocked() noexcept {
  for (std::size_t i = retired_count_; i-- > 0;) {
    if (!epochs_.HasPassed(retired_[i].stamp)) continue;
    Release(retired_[i].array);
    retired_[i] = retired_[--retired_count_];
  }
}

void Index::Release(BucketArray array) noexcept {
  if (array.count() == 0) return;
  memory::UnmapPages(reinterpret_cast<char*>(array.buckets()), array.bytes());
  budget_.AddIndex(-static_cast<std::int64_t>(array.bytes()));
}

}  // namespace podcache::store
