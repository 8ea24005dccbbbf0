// From the hash of a key to where its record lies.
//
// Many partitions, each with its own lock and its own array of 64-byte buckets: 7 slots and a count
// of the entries that found their bucket full and went on to a following one. An array grows by an
// eighth, a page at least, and shrinks when mostly empty; only its own partition waits for that,
// never the whole index. An empty partition has no array.
//
// A slot is 22 bits of tag, 2 bits of use frequency, 40 bits of location. The tag alone decides the
// bucket (its upper bits, scaled to the number of buckets), so a new array is filled from the old
// one without reading any item.
//
// Threads: everything about a partition needs its lock, except the counters, which anybody may
// read, and Prefetch. Ownership: the arrays are the index's; they count against the budget.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "server/memory/allocation_gate.h"
#include "server/memory/memory_budget.h"
#include "server/store/item.h"
#include "server/store/spin_lock.h"

namespace podcache::store {

class Slot {
 public:
  static constexpr unsigned kFrequencyShift = kLocationBits;
  static constexpr unsigned kTagShift = kLocationBits + 2;
  static constexpr unsigned kTagBits = 64 - kTagShift;
  static constexpr unsigned kMaxFrequency = 3;

  bool empty() const noexcept { return word_ == 0; }
  std::uint32_t tag() const noexcept { return static_cast<std::uint32_t>(word_ >> kTagShift); }
  Location location() const noexcept { return word_ & ((std::uint64_t{1} << kLocationBits) - 1); }
  unsigned frequency() const noexcept {
    return static_cast<unsigned>(word_ >> kFrequencyShift) & 3;
  }

  void Set(std::uint32_t tag, unsigned frequency, Location location) noexcept {
    word_ = (std::uint64_t{tag} << kTagShift) | (std::uint64_t{frequency} << kFrequencyShift) |
            location;
  }
  void SetLocation(Location location) noexcept { Set(tag(), frequency(), location); }
  void SetFrequency(unsigned frequency) noexcept { Set(tag(), frequency, location()); }
  // Written only below the maximum: the line of a hot item stays clean.
  void Touch() noexcept {
    if (frequency() < kMaxFrequency) word_ += std::uint64_t{1} << kFrequencyShift;
  }
  void Clear() noexcept { word_ = 0; }

 private:
  std::uint64_t word_ = 0;
};

struct alignas(64) Bucket {
  static constexpr unsigned kSlots = 7;
  // Entries that belong in this bucket or one before it and lie behind it.
  std::uint32_t passed = 0;
  std::uint32_t unused = 0;
  Slot slots[kSlots];
};
static_assert(sizeof(Bucket) == 64 && sizeof(Slot) == 8);

// Written under the partition's lock, read by anybody.
class PartitionCounter {
 public:
  void Add(std::uint64_t n) noexcept { value_.store(Read() + n, std::memory_order_relaxed); }
  void Sub(std::uint64_t n) noexcept { value_.store(Read() - n, std::memory_order_relaxed); }
  std::uint64_t Read() const noexcept { return value_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::uint64_t> value_{0};
};

struct alignas(128) Partition {
  SpinLock lock;
  std::uint32_t bucket_count GUARDED_BY(lock) = 0;
  std::atomic<Bucket*> buckets{
      nullptr};  // Written under the lock; read without it only to prefetch.
  PartitionCounter items;
  PartitionCounter item_bytes;
  PartitionCounter total_items;   // Stored since start.
  PartitionCounter stored_bytes;  // Records written by clients since start.
  PartitionCounter reclaimed;     // Expired or flushed items whose place was taken back.
  PartitionCounter expired;
  PartitionCounter expired_unfetched;
};

class Index {
 public:
  // `partitions` is a power of two.
  Index(std::size_t partitions, memory::MemoryBudget& budget, memory::AllocationGate& gate);
  ~Index();
  Index(const Index&) = delete;
  Index& operator=(const Index&) = delete;

  Partition& PartitionOf(std::uint64_t hash) noexcept {
    return partitions_[hash >> partition_shift_ & mask_];
  }
  std::size_t partition_count() const noexcept { return mask_ + 1; }
  Partition& partition(std::size_t i) noexcept { return partitions_[i]; }
  const Partition& partition(std::size_t i) const noexcept { return partitions_[i]; }
  std::uint64_t slots() const noexcept { return slots_.load(std::memory_order_relaxed); }

  // The slot with this hash's tag for which match(location) holds, or nullptr.
  template <class Match>
  Slot* Find(Partition& partition, std::uint64_t hash, Match&& match) const noexcept
      REQUIRES(partition.lock) {
    const std::uint32_t count = partition.bucket_count;
    if (count == 0) return nullptr;
    Bucket* const buckets = partition.buckets.load(std::memory_order_relaxed);
    const std::uint32_t tag = Tag(hash);
    std::uint32_t i = Home(tag, count);
    for (std::uint32_t probes = 0; probes < count; ++probes) {
      Bucket& bucket = buckets[i];
      for (Slot& slot : bucket.slots) {
        if (slot.tag() == tag && !slot.empty() && match(slot.location())) return &slot;
      }
      if (bucket.passed == 0) return nullptr;
      i = i + 1 == count ? 0 : i + 1;
    }
    return nullptr;
  }
  // False when there is neither a free slot nor memory for more. Invalidates slot pointers of the
  // partition.
  bool Insert(Partition& partition, std::uint64_t hash, Location location) noexcept
      REQUIRES(partition.lock);
  // May shrink the array: invalidates slot pointers of the partition.
  void Remove(Partition& partition, std::uint64_t hash, Slot* slot) noexcept
      REQUIRES(partition.lock);

  void Prefetch(std::uint64_t hash) const noexcept {
    __builtin_prefetch(&partitions_[hash >> partition_shift_ & mask_]);
  }

  // Calls visit(slot) for every entry with a tag in [first, end). Entries lie at their home bucket
  // or behind it, as far as the counts say.
  template <class Visit>
  void ForEachTag(Partition& partition, std::uint32_t first, std::uint32_t end, Visit&& visit) const
      REQUIRES(partition.lock) {
    const std::uint32_t count = partition.bucket_count;
    if (count == 0 || first >= end) return;
    Bucket* const buckets = partition.buckets.load(std::memory_order_relaxed);
    const std::uint32_t last = Home(end - 1, count);
    bool beyond_last = false;
    std::uint32_t i = Home(first, count);
    for (std::uint32_t seen = 0; seen < count; ++seen) {
      for (Slot& slot : buckets[i].slots) {
        if (!slot.empty() && slot.tag() >= first && slot.tag() < end) visit(slot);
      }
      beyond_last = beyond_last || i == last;
      if (beyond_last && buckets[i].passed == 0) return;
      i = i + 1 == count ? 0 : i + 1;
    }
  }

  // Calls visit(slot) for every entry; for tests.
  template <class Visit>
  void ForEach(Partition& partition, Visit&& visit) const REQUIRES(partition.lock) {
    Bucket* const buckets = partition.buckets.load(std::memory_order_relaxed);
    for (std::uint32_t i = 0; i < partition.bucket_count; ++i) {
      for (const Slot& slot : buckets[i].slots) {
        if (!slot.empty()) visit(slot);
      }
    }
  }

  static constexpr std::uint32_t kTags = 1U << Slot::kTagBits;
  static std::uint32_t Tag(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash) & (kTags - 1);
  }

 private:
  static constexpr unsigned partition_shift_ = 32;
  static std::uint32_t Home(std::uint32_t tag, std::uint32_t count) noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{tag} * count) >> Slot::kTagBits);
  }
  bool Resize(Partition& partition, std::uint32_t count) noexcept REQUIRES(partition.lock);
  std::uint32_t Larger(std::uint32_t count) const noexcept;
  void Release(Bucket* buckets, std::uint32_t count) noexcept;

  memory::MemoryBudget& budget_;
  memory::AllocationGate& gate_;
  const std::uint32_t page_buckets_;
  std::size_t mask_;
  std::unique_ptr<Partition[]> partitions_;
  std::atomic<std::uint64_t> slots_{0};
};

}  // namespace podcache::store
