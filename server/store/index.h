// From the hash of a key to where its record lies.
//
// Many partitions, each with its own lock and its own array of 64-byte buckets: 7 slots and a count
// of the entries that found their bucket full and went on to a following one. An array grows by a
// twenty-fourth, a page at least, and shrinks when mostly empty; only its own partition waits for
// that, never the whole index. An empty partition has no array.
//
// What room is left in a bucket holds ghosts: fingerprints of the last few keys that belong there
// and were evicted without having been used. An item whose ghost is found is entered as if used.
//
// A slot is 22 bits of tag, 2 bits of use frequency, 40 bits of location. The tag alone decides the
// bucket (its upper bits, scaled to the number of buckets), so a new array is filled from the old
// one without reading any item.
//
// Threads: everything about a partition changes under its lock. Without it, inside a ReadSection
// (epoch.h), slots may be read and Slot::NoteUse called; what is read counts if the lock's version
// has not changed since before. The counters may be read by anybody. Ownership: the arrays are the
// index's; they count against the budget until nobody can be reading them any more.
#pragma once

#include <array>
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/mutex.h"
#include "server/memory/allocation_gate.h"
#include "server/memory/memory_budget.h"
#include "server/store/epoch.h"
#include "server/store/item.h"
#include "server/store/spin_lock.h"

namespace podcache::store {

class Slot {
 public:
  using Word = std::uint64_t;
  static constexpr unsigned kFrequencyShift = kLocationBits;
  static constexpr unsigned kTagShift = kLocationBits + 2;
  static constexpr unsigned kTagBits = 64 - kTagShift;
  static constexpr unsigned kMaxFrequency = 3;
  static constexpr Word kEmpty = 0;

  static std::uint32_t TagOf(Word word) noexcept {
    return static_cast<std::uint32_t>(word >> kTagShift);
  }
  static unsigned FrequencyOf(Word word) noexcept {
    return static_cast<unsigned>(word >> kFrequencyShift) & kMaxFrequency;
  }
  static Location LocationOf(Word word) noexcept { return word & ((Word{1} << kLocationBits) - 1); }
  static Word Pack(std::uint32_t tag, unsigned frequency, Location location) noexcept {
    return (Word{tag} << kTagShift) | (Word{frequency} << kFrequencyShift) | location;
  }
  // Whether it is an entry with this tag.
  static bool Matches(Word word, std::uint32_t tag) noexcept {
    return TagOf(word) == tag && word != kEmpty;
  }

  Word word() const noexcept { return word_.load(std::memory_order_relaxed); }
  // Who reads a record without a lock sees what was written before its location was stored here.
  Word Acquire() const noexcept { return word_.load(std::memory_order_acquire); }
  bool empty() const noexcept { return word() == kEmpty; }
  std::uint32_t tag() const noexcept { return TagOf(word()); }
  Location location() const noexcept { return LocationOf(word()); }
  unsigned frequency() const noexcept { return FrequencyOf(word()); }

  void Store(Word word) noexcept { word_.store(word, std::memory_order_release); }
  void Set(std::uint32_t tag, unsigned frequency, Location location) noexcept {
    Store(Pack(tag, frequency, location));
  }
  void SetLocation(Location location) noexcept { Set(tag(), frequency(), location); }
  void SetFrequency(unsigned frequency) noexcept { Set(tag(), frequency, location()); }
  // Written only below the maximum: the line of a hot item stays clean.
  void Touch() noexcept {
    if (frequency() < kMaxFrequency) Store(word() + (Word{1} << kFrequencyShift));
  }
  // The same without the lock, by who has read `word` here. One use in a great many may get lost.
  void NoteUse(Word word) noexcept {
    if (FrequencyOf(word) == kMaxFrequency) return;
    word_.compare_exchange_strong(word, word + (Word{1} << kFrequencyShift),
                                  std::memory_order_relaxed);
  }
  void Clear() noexcept { Store(kEmpty); }

 private:
  std::atomic<Word> word_{kEmpty};
};

// Four fingerprints of 8 bits, the newest lowest; 0 is none. One in 64 that were never here is
// taken for a ghost, which does little harm. Under the partition's lock.
class Ghosts {
 public:
  static constexpr unsigned kBits = 8;
  static constexpr std::uint32_t kMask = (1U << kBits) - 1;

  Ghosts() = default;
  explicit Ghosts(std::uint32_t word) noexcept : word_(word) {}

  // Of its lowest bits: the highest ones already say which bucket it is.
  static std::uint32_t PrintOf(std::uint32_t tag) noexcept {
    const std::uint32_t print = tag & kMask;
    return print != 0 ? print : 1;
  }
  void Add(std::uint32_t print) noexcept { word_ = word_ << kBits | print; }
  // Whether it was there; it is not any more.
  bool Take(std::uint32_t print) noexcept {
    for (unsigned at = 0; at < 32; at += kBits) {
      if ((word_ >> at & kMask) != print) continue;
      const std::uint32_t newer = word_ & ((1U << at) - 1);
      // Those behind it move up.
      const std::uint32_t older =
          static_cast<std::uint32_t>(std::uint64_t{word_} >> (at + kBits) << at);
      word_ = older | newer;
      return true;
    }
    return false;
  }
  bool empty() const noexcept { return word_ == 0; }
  bool full() const noexcept { return word_ >> (32 - kBits) != 0; }
  unsigned count() const noexcept {
    return (32 - static_cast<unsigned>(std::countl_zero(word_)) + kBits - 1) / kBits;
  }
  std::uint32_t word() const noexcept { return word_; }

 private:
  std::uint32_t word_ = 0;
};

struct alignas(64) Bucket {
  static constexpr unsigned kSlots = 7;
  // Entries that belong in this bucket or one before it and lie behind it.
  std::atomic<std::uint32_t> passed{0};
  Ghosts ghosts;
  Slot slots[kSlots];

  bool has_passed() const noexcept { return passed.load(std::memory_order_relaxed) != 0; }
  // Under the lock.
  void AddPassed(std::uint32_t n) noexcept {
    passed.store(passed.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
  }
};
static_assert(sizeof(Bucket) == 64 && sizeof(Slot) == 8);

// Where an array is and how large, in one word, so that nobody pairs one with the size of another.
class BucketArray {
 public:
  using Word = std::uint64_t;
  static constexpr unsigned kCountShift = 48;  // Above every address.
  static constexpr std::uint32_t kUnitBuckets = 64;
  static constexpr std::uint32_t kMaxBuckets = ((1U << (64 - kCountShift)) - 1) * kUnitBuckets;

  BucketArray() = default;
  explicit BucketArray(Word word) noexcept : word_(word) {}
  // `count` is a multiple of the unit.
  BucketArray(Bucket* buckets, std::uint32_t count) noexcept
      : word_(reinterpret_cast<Word>(buckets) | (Word{count / kUnitBuckets} << kCountShift)) {}

  Word word() const noexcept { return word_; }
  std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(word_ >> kCountShift) * kUnitBuckets;
  }
  Bucket* buckets() const noexcept {
    return reinterpret_cast<Bucket*>(word_ & ((Word{1} << kCountShift) - 1));
  }
  std::size_t bytes() const noexcept { return std::size_t{count()} * sizeof(Bucket); }
  // The tag alone decides.
  std::uint32_t Home(std::uint32_t tag) const noexcept {
    return static_cast<std::uint32_t>((std::uint64_t{tag} * count()) >> Slot::kTagBits);
  }
  std::uint32_t After(std::uint32_t i) const noexcept { return i + 1 == count() ? 0 : i + 1; }
  Bucket& operator[](std::uint32_t i) const noexcept { return buckets()[i]; }

 private:
  Word word_ = 0;
};

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
  std::atomic<BucketArray::Word> array_word{0};
  PartitionCounter items;
  PartitionCounter item_bytes;
  // Of those, the ones whose records lie in the main line.
  PartitionCounter main_items;
  PartitionCounter main_item_bytes;
  PartitionCounter ghosts;
  PartitionCounter total_items;   // Stored since start.
  PartitionCounter stored_bytes;  // Records written by clients since start.
  PartitionCounter reclaimed;     // Expired or flushed items whose place was taken back.
  PartitionCounter expired;
  PartitionCounter expired_unfetched;
  PartitionCounter resizes;  // Of the array: entries have changed their buckets.

  BucketArray array() const noexcept {
    return BucketArray(array_word.load(std::memory_order_acquire));
  }
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
  // What the arrays would take, had so many of the entries been left after removing the others.
  std::uint64_t BytesWith(std::uint64_t items) const noexcept;

  // The slot with this hash's tag for which match(location) holds, or nullptr.
  template <class Match>
  Slot* Find(Partition& partition, std::uint64_t hash, Match&& match) const noexcept
      REQUIRES(partition.lock) {
    const BucketArray array = partition.array();
    if (array.count() == 0) return nullptr;
    const std::uint32_t tag = Tag(hash);
    std::uint32_t i = array.Home(tag);
    for (std::uint32_t probes = 0; probes < array.count(); ++probes) {
      Bucket& bucket = array[i];
      for (Slot& slot : bucket.slots) {
        const Slot::Word word = slot.word();
        if (Slot::Matches(word, tag) && match(Slot::LocationOf(word))) return &slot;
      }
      if (!bucket.has_passed()) return nullptr;
      i = array.After(i);
    }
    return nullptr;
  }
  // For who will soon look a key up under the lock.
  void FetchBucket(std::uint64_t hash) noexcept {
    const BucketArray array = PartitionOf(hash).array();
    if (array.count() != 0) __builtin_prefetch(&array[array.Home(Tag(hash))]);
  }
  // An entry that counts as used once if its key has a ghost, as never used otherwise. False when
  // there is neither a free slot nor memory for more. Invalidates slot pointers of the partition.
  bool Insert(Partition& partition, std::uint64_t hash, Location location) noexcept
      REQUIRES(partition.lock);
  // May shrink the array: invalidates slot pointers of the partition.
  void Remove(Partition& partition, Slot* slot) noexcept REQUIRES(partition.lock) {
    RemoveOnly(partition, slot);
    ShrinkToFit(partition);
  }
  // For who removes many entries: leaves the array as it is, and all others where they are.
  void RemoveOnly(Partition& partition, Slot* slot) noexcept REQUIRES(partition.lock);
  // Makes the array smaller if it is mostly empty: invalidates slot pointers of the partition.
  void ShrinkToFit(Partition& partition) noexcept REQUIRES(partition.lock);

  // An item of this tag was evicted: if it comes again soon, that counts as a use.
  void AddGhost(Partition& partition, std::uint32_t tag) noexcept REQUIRES(partition.lock);

  // Calls visit(slot) for every entry with a tag in [first, end). Entries lie at their home bucket
  // or behind it, as far as the counts say.
  template <class Visit>
  void ForEachTag(Partition& partition, std::uint32_t first, std::uint32_t end, Visit&& visit) const
      REQUIRES(partition.lock) {
    const BucketArray array = partition.array();
    if (array.count() == 0 || first >= end) return;
    const std::uint32_t last = array.Home(end - 1);
    bool beyond_last = false;
    std::uint32_t i = array.Home(first);
    for (std::uint32_t seen = 0; seen < array.count(); ++seen) {
      for (Slot& slot : array[i].slots) {
        if (!slot.empty() && slot.tag() >= first && slot.tag() < end) visit(slot);
      }
      beyond_last = beyond_last || i == last;
      if (beyond_last && !array[i].has_passed()) return;
      i = array.After(i);
    }
  }

  // Before anybody uses the index: an empty partition gets an array of `count` buckets, a multiple
  // of the unit, which the caller fills. nullptr without memory for it.
  Bucket* Adopt(Partition& partition, std::uint32_t count) noexcept;
  // When nobody uses the index any more: gives back the partition's array.
  void Drop(Partition& partition) noexcept;

  // Those who read the index without locks.
  Epochs& epochs() noexcept { return epochs_; }
  // Gives back the memory of replaced arrays that nobody reads any more.
  void FreeRetired() noexcept EXCLUDES(retired_mutex_);

  static constexpr std::uint32_t kTags = 1U << Slot::kTagBits;
  static std::uint32_t Tag(std::uint64_t hash) noexcept {
    return static_cast<std::uint32_t>(hash) & (kTags - 1);
  }

 private:
  static constexpr unsigned partition_shift_ = 32;
  bool Resize(Partition& partition, std::uint32_t count) noexcept REQUIRES(partition.lock);
  BucketArray NewArray(std::uint32_t count) noexcept;
  std::uint32_t Larger(std::uint32_t count) const noexcept;
  // Buckets for so many entries after shrinking.
  std::uint32_t Fitting(std::uint64_t items) const noexcept;
  void Retire(BucketArray array) noexcept EXCLUDES(retired_mutex_);
  void FreeRetiredLocked() noexcept REQUIRES(retired_mutex_);
  void Release(BucketArray array) noexcept;

  // Replaced by another, but still read perhaps.
  struct Retired {
    BucketArray array;
    Epochs::Stamp stamp = 0;
  };
  static constexpr std::size_t kMaxRetired = 16;

  memory::MemoryBudget& budget_;
  memory::AllocationGate& gate_;
  const std::uint32_t page_buckets_;
  std::size_t mask_;
  std::unique_ptr<Partition[]> partitions_;
  std::atomic<std::uint64_t> slots_{0};
  Epochs epochs_;
  Mutex retired_mutex_;
  std::array<Retired, kMaxRetired> retired_ GUARDED_BY(retired_mutex_);
  std::size_t retired_count_ GUARDED_BY(retired_mutex_) = 0;
};

}  // namespace podcache::store
