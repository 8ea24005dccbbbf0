// Reads of whole batches without locks: docs/designs/0004-lock-free-reads.md.
//
// The cache misses of a batch overlap: first all partitions are fetched, then all buckets, then all
// records. What was read under a version of a partition counts if that version still holds when the
// value has been copied; a reader who is not lucky a few times takes the lock. So does who finds
// something to change: an item that has expired, a large value to pin, a CAS id that becomes known.
#include "server/memory/poison.h"
#include "server/store/session.h"
#include "server/store/value_copy.h"

namespace podcache::store {
namespace {

constexpr int kTries = 4;

enum class Outcome : std::uint8_t { kHit, kMiss, kTryAgain, kNeedsLock };

// Where a key may be, as it was at one version of its partition.
struct Probe {
  Partition* partition;
  SpinLock::Version version;
  Bucket* home;     // nullptr: the partition is empty.
  Slot* candidate;  // The first one in there with the key's tag.
};

// Brings to the cache what a lookup will want, without waiting for it. Only inside a ReadSection.
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
    Bucket* const home = probe.home;
    if (home == nullptr) return;
    const std::uint32_t tag = Index::Tag(hash);
#pragma GCC unroll 7
    for (unsigned i = 0; i < Bucket::kSlots; ++i) {
      const Slot::Word word = home->slots[i].word();
      if (Slot::TagOf(word) != tag) continue;
      // Of an empty one too: nothing is read.
      const char* const record = At(Slot::LocationOf(word));
      __builtin_prefetch(record);
      __builtin_prefetch(record + sizeof(Bucket));
      probe.candidate = &home->slots[i];
      return;
    }
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
  char* const base_;  // Of all locations.
};

// Only inside a ReadSection.
class Lookup : public Fetcher {
 public:
  Lookup(ItemTable& table, const ReadOptions& options, bool has_cas, std::uint32_t now,
         ValueSink& sink) noexcept
      : Fetcher(table),
        log_(table.log()),
        epoch_(table.flush().epoch()),
        check_epoch_(table.flush().sweep_pending()),
        want_cas_(options.want_cas && has_cas),
        now_(now),
        used_bits_(Record::WithAccess(header::kFetched, now)),
        sink_(sink) {}

  // Another version than any that Read accepts.
  static void Forget(Probe& probe) noexcept { probe.version = 1; }
  // Of a key that is where almost all are; kTryAgain also for all others.
  Outcome Read(const Probe& probe, const Key& key, std::size_t index) {
    if (SpinLock::IsHeld(probe.version)) return Outcome::kTryAgain;
    Slot* const slot = probe.candidate;
    if (slot == nullptr) {
      if (probe.home != nullptr && probe.home->has_passed()) return Outcome::kTryAgain;
      return Settle(*probe.partition, probe.version, Outcome::kMiss);
    }
    const Slot::Word word = slot->Acquire();
    if (!Slot::Matches(word, Index::Tag(key.hash))) return Outcome::kTryAgain;
    const Outcome outcome = ReadSlot(*probe.partition, probe.version, *slot, word, key, index);
    return outcome == Outcome::kMiss ? Outcome::kTryAgain : outcome;
  }
  // The same, once more and wherever it is.
  [[gnu::noinline]] Outcome ReadAnywhere(const Key& key, std::size_t index) {
    Partition& partition = index_.PartitionOf(key.hash);
    const SpinLock::Version version = partition.lock.version();
    if (SpinLock::IsHeld(version)) return Outcome::kTryAgain;
    const BucketArray array = partition.array();
    const std::uint32_t tag = Index::Tag(key.hash);
    std::uint32_t at = array.Home(tag);
    for (std::uint32_t hops = 0; hops < array.count(); ++hops, at = array.After(at)) {
      for (Slot& slot : array[at].slots) {
        const Slot::Word word = slot.Acquire();
        if (!Slot::Matches(word, tag)) continue;
        const Outcome outcome = ReadSlot(partition, version, slot, word, key, index);
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
                                          Slot& slot, Slot::Word word, const Key& key,
                                          std::size_t index) {
    const Location location = Slot::LocationOf(word);
    const Record record(At(location));
    const std::uint64_t h = record.Header();
    if (Record::KindOf(h) != RecordKind::kItem) return Outcome::kNeedsLock;
    const char* const key_bytes = record.data() + Record::ItemKeyOffset(h);
    const std::size_t key_size = key.bytes.size();
    if (Record::KeyBytesOf(h) != key_size || !SameKeyBytes(key_bytes, key.bytes.data(), key_size))
      return Outcome::kMiss;
    if (!Describe(record, h, location)) return Outcome::kNeedsLock;
    const char* const value = key_bytes + key_size;
    const std::size_t bytes = Record::ItemValueBytes(h);
    CopyChangingValue(value, bytes, sink_.Begin(index, meta_));
    // Dead values are poisoned under the lock: one that is not whole may be so, others may not.
    const bool dead = memory::IsPoisoned(value, bytes);
    if (!partition.lock.Unchanged(version)) return Outcome::kTryAgain;
    PODCACHE_CHECK(!dead);
    // Written once a second at most, and not at all in between: the lines of a hot item stay clean.
    const std::uint64_t used = (h & ~(header::kAccessMask << header::kAccessShift)) | used_bits_;
    if (used != h) Record(record).NoteUse(h, used);
    slot.NoteUse(word);
    sink_.End(index, meta_);
    return Outcome::kHit;
  }
  // False: something has to be changed first.
  [[gnu::always_inline]] bool Describe(Record record, std::uint64_t h, Location location) noexcept {
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
    if (want_cas_) {
      if ((h & header::kObserved) == 0) return false;
      meta_.cas = (h & header::kHasCas) != 0 ? record.ExplicitCas(h) : log_.PositionOf(location);
    }
    return true;
  }

  const SegmentLog& log_;
  const std::uint32_t epoch_;
  const bool check_epoch_;
  const bool want_cas_;
  const std::uint32_t now_;
  const std::uint64_t used_bits_;
  ValueSink& sink_;
  ItemMeta meta_;
};

}  // namespace

void StoreSession::Impl::Fetch(std::span<const std::uint64_t> hashes) noexcept {
  PODCACHE_DCHECK(hashes.size() <= kMaxBatch);
  Probe probes[kMaxBatch];
  ReadSection section(reader);
  Fetcher(table).FetchAll({probes, hashes.size()}, [&](std::size_t i) { return hashes[i]; });
}

void StoreSession::Impl::ReadBatch(std::span<const Key> keys, const ReadOptions& options,
                                   std::uint32_t now, ValueSink& sink, StoreStatus* statuses) {
  Probe probes[kMaxBatch];
  ReadSection section(reader);
  Lookup lookup(table, options, store.options().cas, now, sink);
  const std::size_t count = keys.size();
  lookup.FetchAll({probes, count}, [&](std::size_t i) { return keys[i].hash; });
  for (std::size_t i = 0; i < count; ++i) {
    Outcome outcome = lookup.Read(probes[i], keys[i], i);
    for (int tries = 1; outcome == Outcome::kTryAgain && tries < kTries; ++tries)
      outcome = lookup.ReadAnywhere(keys[i], i);
    statuses[i] = outcome == Outcome::kHit ? StoreStatus::kOk : StoreStatus::kNotFound;
    if (outcome <= Outcome::kMiss) continue;
    // Nobody may wait for a lock while others may wait for readers.
    section.Leave();
    statuses[i] = GetLocked(keys[i], i, options, now, sink);
    section.Enter();
    for (std::size_t j = i + 1; j < count; ++j) Lookup::Forget(probes[j]);
  }
}

}  // namespace podcache::store
