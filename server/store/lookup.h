// Reads of whole batches without locks: docs/designs/0004-lock-free-reads.md.
//
// The cache misses of a batch overlap: first all partitions are fetched, then all buckets, then all
// records. What was read under a version of a partition counts if that version still holds when the
// value has been copied; a reader who is not lucky a few times takes the lock. So does who finds
// something to change: an item that has expired, a large value to pin, a CAS id that becomes known.
//
// Threads: one owner; everything here only inside a ReadSection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/check.h"
#include "server/memory/poison.h"
#include "server/store/item_read.h"
#include "server/store/item_table.h"
#include "server/store/value_copy.h"

namespace podcache::store {

enum class Outcome : std::uint8_t { kHit, kMiss, kTryAgain, kNeedsLock };

// Where a key may be, as it was at one version of its partition.
struct Probe {
  Partition* partition;
  SpinLock::Version version;
  Bucket* home;     // nullptr: the partition is empty.
  Slot* candidate;  // The first one in there with the key's tag.
};

// Brings to the cache what a lookup will want, without waiting for it.
class Fetcher {
 public:
  explicit Fetcher(ItemTable& table) noexcept : index_(table.index()), base_(table.log().At(0)) {}

  void FetchPartition(Probe& probe, std::uint64_t hash) const noexcept {
    Partition* const partition = &index_.PartitionOf(hash);
    __builtin_prefetch(partition);
    probe.partition = partition;
  }
  void FetchBucket(Probe& probe, std::uint64_t hash) const noexcept {
    const Partition& partition = *probe.partition;
    probe.version = partition.lock.version();
    const BucketArray array = partition.array();
    Bucket* home = array.buckets();
    // Not so for the first item only.
    if (home != nullptr) [[likely]]
      home += array.Home(Index::Tag(hash));
    __builtin_prefetch(home);
    probe.home = home;
  }
  void FetchRecord(Probe& probe, std::uint64_t hash) const noexcept {
    probe.candidate = nullptr;
    if (probe.home == nullptr) return;
    const std::uint32_t tag = Index::Tag(hash);
    if (!FetchRecordIn(*probe.home, tag, probe) && probe.home->has_passed())
      FetchRecordBehind(tag, probe);
  }

  // A batch in stages: hash(i) is that of the i-th key.
  template <class HashOf>
  [[gnu::always_inline]] void FetchAll(std::span<Probe> probes, HashOf&& hash) const noexcept {
    for (std::size_t i = 0; i < probes.size(); ++i) FetchPartition(probes[i], hash(i));
    for (std::size_t i = 0; i < probes.size(); ++i) FetchBucket(probes[i], hash(i));
    for (std::size_t i = 0; i < probes.size(); ++i) FetchRecord(probes[i], hash(i));
  }

 protected:
  char* At(Location location) const noexcept { return base_ + location * kUnitBytes; }

  Index& index_;

 private:
  // How far behind its home an entry is looked for before it is asked for.
  static constexpr int kFetchedHops = 3;

  [[gnu::always_inline]] bool FetchRecordIn(Bucket& bucket, std::uint32_t tag,
                                            Probe& probe) const noexcept {
#pragma GCC unroll 7
    for (Slot& slot : bucket.slots) {
      const Slot::Word word = slot.word();
      if (Slot::TagOf(word) != tag) continue;
      // Of an empty one too: nothing is read.
      const char* const record = At(Slot::LocationOf(word));
      __builtin_prefetch(record);
      __builtin_prefetch(record + sizeof(Bucket));
      probe.candidate = &slot;
      return true;
    }
    return false;
  }
  // One in seven entries of a full array found no room at home.
  [[gnu::noinline]] void FetchRecordBehind(std::uint32_t tag, Probe& probe) const noexcept {
    const BucketArray array = probe.partition->array();
    // The array may have been replaced since; then nothing is where it was.
    if (array.count() == 0 || array.Home(tag) + array.buckets() != probe.home) return;
    std::uint32_t at = array.Home(tag);
    for (int hop = 0; hop < kFetchedHops && array[at].has_passed(); ++hop) {
      at = array.After(at);
      if (FetchRecordIn(array[at], tag, probe)) return;
    }
  }

  char* const base_;  // Of all locations.
};

// `Reads` is what is asked for; its i-th read:
//
//   const Key& key(i)
//   bool asks_for_cas(i)    its CAS id is wanted or compared,
//   bool wants_cas(i)       the former
//   bool counts_as_use(i)
//   bool leaves_value_out(meta)
//   bool Complete(i, header, now, meta)
//                           adds what else it wants to know of the item; false: it needs the lock
template <class Reads>
class Lookup : public Fetcher {
 public:
  Lookup(ItemTable& table, const Reads& reads, bool has_cas, std::uint32_t now,
         ValueSink& sink) noexcept
      : Fetcher(table),
        log_(table.log()),
        reads_(reads),
        epoch_(table.flush().epoch()),
        check_epoch_(table.flush().sweep_pending()),
        has_cas_(has_cas),
        now_(now),
        used_bits_(Record::WithAccess(header::kFetched, now)),
        sink_(sink) {}

  // Another version than any that Read accepts.
  static void Forget(Probe& probe) noexcept { probe.version = 1; }
  // Of a key that is where almost all are; kTryAgain also for all others.
  Outcome Read(const Probe& probe, std::size_t index) {
    if (SpinLock::IsHeld(probe.version)) return Outcome::kTryAgain;
    Slot* const slot = probe.candidate;
    if (slot == nullptr) {
      if (probe.home != nullptr && probe.home->has_passed()) return Outcome::kTryAgain;
      return Settle(*probe.partition, probe.version, Outcome::kMiss);
    }
    const Slot::Word word = slot->Acquire();
    if (!Slot::Matches(word, Index::Tag(reads_.key(index).hash))) return Outcome::kTryAgain;
    const Outcome outcome = ReadSlot(*probe.partition, probe.version, *slot, word, index);
    return outcome == Outcome::kMiss ? Outcome::kTryAgain : outcome;
  }
  // The same, once more and wherever it is.
  [[gnu::noinline]] Outcome ReadAnywhere(std::size_t index) {
    const std::uint64_t hash = reads_.key(index).hash;
    Partition& partition = index_.PartitionOf(hash);
    const SpinLock::Version version = partition.lock.version();
    if (SpinLock::IsHeld(version)) return Outcome::kTryAgain;
    const BucketArray array = partition.array();
    const std::uint32_t tag = Index::Tag(hash);
    std::uint32_t at = array.Home(tag);
    for (std::uint32_t hops = 0; hops < array.count(); ++hops, at = array.After(at)) {
      for (Slot& slot : array[at].slots) {
        const Slot::Word word = slot.Acquire();
        if (!Slot::Matches(word, tag)) continue;
        const Outcome outcome = ReadSlot(partition, version, slot, word, index);
        if (outcome != Outcome::kMiss) return outcome;
      }
      if (!array[at].has_passed()) break;
    }
    return Settle(partition, version, Outcome::kMiss);
  }

 private:
  static Outcome Settle(Partition& partition, SpinLock::Version version, Outcome outcome) noexcept {
    return partition.lock.Unchanged(version) ? outcome : Outcome::kTryAgain;
  }
  // kMiss: it is another key's, from which nothing follows yet.
  [[gnu::always_inline]] Outcome ReadSlot(Partition& partition, SpinLock::Version version,
                                          Slot& slot, Slot::Word word, std::size_t index) {
    const Key& key = reads_.key(index);
    const Location location = Slot::LocationOf(word);
    const Record record(At(location));
    const std::uint64_t h = record.Header();
    if (Record::KindOf(h) != RecordKind::kItem) return Outcome::kNeedsLock;
    const char* const key_bytes = record.data() + Record::ItemKeyOffset(h);
    const std::size_t key_size = key.bytes.size();
    if (Record::KeyBytesOf(h) != key_size || !SameKeyBytes(key_bytes, key.bytes.data(), key_size))
      return Outcome::kMiss;
    if (!Describe(record, h, location, index)) return Outcome::kNeedsLock;
    const char* const value = key_bytes + key_size;
    const std::size_t bytes = reads_.leaves_value_out(meta_) ? 0 : Record::ItemValueBytes(h);
    CopyChangingValue(value, bytes, sink_.Begin(index, meta_));
    // Dead values are poisoned under the lock: one that is not whole may be so, others may not.
    const bool dead = memory::IsPoisoned(value, bytes);
    if (!partition.lock.Unchanged(version)) return Outcome::kTryAgain;
    PODCACHE_CHECK(!dead);
    if (reads_.counts_as_use(index)) NoteUse(record, h, slot, word);
    sink_.End(index, meta_);
    return Outcome::kHit;
  }
  [[gnu::always_inline]] void NoteUse(Record record, std::uint64_t h, Slot& slot,
                                      Slot::Word word) noexcept {
    // Written once a second at most, and not at all in between: the lines of a hot item stay clean.
    const std::uint64_t used = (h & ~(header::kAccessMask << header::kAccessShift)) | used_bits_;
    if (used != h) record.NoteUse(h, used);
    slot.NoteUse(word);
  }
  // False: something has to be changed first.
  [[gnu::always_inline]] bool Describe(Record record, std::uint64_t h, Location location,
                                       std::size_t index) noexcept {
    meta_.value_bytes = Record::ItemValueBytes(h);
    meta_.client_flags = 0;
    meta_.exptime = 0;
    if ((h & (header::kHasExptime | header::kHasFlags)) != 0) {
      meta_.client_flags = record.ClientFlags(h);
      const std::uint32_t exptime = record.Exptime(h);
      meta_.exptime = exptime;
      if (exptime != 0 && exptime <= now_) return false;
    }
    if (check_epoch_ && log_.EpochOf(location) < epoch_) return false;
    if (has_cas_ && reads_.asks_for_cas(index)) {
      // Who learns of it changes what a write may do.
      if (reads_.wants_cas(index) && (h & header::kObserved) == 0) return false;
      meta_.cas = (h & header::kHasCas) != 0 ? record.ExplicitCas(h) : log_.PositionOf(location);
    }
    return reads_.Complete(index, h, now_, meta_);
  }

  const SegmentLog& log_;
  const Reads reads_;
  const std::uint32_t epoch_;
  const bool check_epoch_;
  const bool has_cas_;
  const std::uint32_t now_;
  const std::uint64_t used_bits_;
  ValueSink& sink_;
  ItemMeta meta_;
};

}  // namespace podcache::store
