// Reads without locks as far as that goes (lookup.h), then under them.
#include <algorithm>

#include "server/store/lookup.h"
#include "server/store/session.h"

namespace podcache::store {
namespace {

constexpr int kTries = 4;

struct PlainReads {
  std::span<const Key> keys;
  bool want_cas;

  const Key& key(std::size_t i) const noexcept { return keys[i]; }
  bool asks_for_cas(std::size_t) const noexcept { return want_cas; }
  bool wants_cas(std::size_t) const noexcept { return want_cas; }
  static bool counts_as_use(std::size_t) noexcept { return true; }
  static bool changes_on_miss(std::size_t) noexcept { return false; }
  static bool leaves_value_out(const ItemMeta&) noexcept { return false; }
  static bool Complete(std::size_t, std::uint64_t, std::uint32_t, ItemMeta&) noexcept {
    return true;
  }
};

struct DetailedReads {
  std::span<const DetailedRead> reads;
  bool has_cas;

  const Key& key(std::size_t i) const noexcept { return reads[i].key; }
  bool asks_for_cas(std::size_t i) const noexcept {
    return reads[i].want_cas || reads[i].skip_known;
  }
  bool wants_cas(std::size_t i) const noexcept { return reads[i].want_cas; }
  bool counts_as_use(std::size_t i) const noexcept { return reads[i].counts_as_use; }
  bool changes_on_miss(std::size_t i) const noexcept { return reads[i].create; }
  static bool leaves_value_out(const ItemMeta& meta) noexcept { return !meta.has_value; }
  // Leases, and what else changes the item, are given under the lock.
  bool Complete(std::size_t i, std::uint64_t h, std::uint32_t now, ItemMeta& meta) const noexcept {
    const DetailedRead& read = reads[i];
    if (read.set_exptime || (h & (header::kStale | header::kLeased)) != 0) return false;
    if (read.recache && meta.exptime != kNeverExpires && meta.exptime < read.recache_before)
      return false;
    meta.fetched = (h & header::kFetched) != 0;
    meta.idle_seconds = Record::IdleSecondsOf(h, now);
    meta.item_bytes = Record::BytesOf(h);
    meta.has_value = read.want_value && !(read.skip_known && has_cas && meta.cas == read.known_cas);
    return true;
  }
};

// Calls locked(i) for those that need it; `section` is left meanwhile.
template <class Reads, class Locked>
void ReadAll(Lookup<Reads>& lookup, const Reads& reads, ReadSection& section,
             std::span<StoreStatus> statuses, Locked&& locked) {
  Probe probes[StoreSession::kMaxBatch];
  const std::size_t count = statuses.size();
  lookup.FetchAll({probes, count}, [&](std::size_t i) { return reads.key(i).hash; });
  for (std::size_t i = 0; i < count; ++i) {
    Outcome outcome = lookup.Read(probes[i], i);
    for (int tries = 1; outcome == Outcome::kTryAgain && tries < kTries; ++tries)
      outcome = lookup.ReadAnywhere(i);
    statuses[i] = outcome == Outcome::kHit ? StoreStatus::kOk : StoreStatus::kNotFound;
    if (outcome == Outcome::kHit || (outcome == Outcome::kMiss && !reads.changes_on_miss(i)))
      continue;
    // Nobody may wait for a lock while others may wait for readers.
    section.Leave();
    statuses[i] = locked(i);
    section.Enter();
    for (std::size_t j = i + 1; j < count; ++j) Lookup<Reads>::Forget(probes[j]);
  }
}

}  // namespace

void StoreSession::Impl::Fetch(std::span<const std::uint64_t> hashes) noexcept {
  PODCACHE_DCHECK(hashes.size() <= kMaxBatch);
  Probe probes[kMaxBatch];
  ReadSection section(reader);
  Fetcher(table).FetchAll({probes, hashes.size()}, [&](std::size_t i) { return hashes[i]; });
}

void StoreSession::Impl::ReadBatch(std::span<const Key> keys, const ReadOptions& options,
                                   std::uint32_t now, ValueSink& sink,
                                   std::span<StoreStatus> statuses) {
  ReadSection section(reader);
  const PlainReads reads{keys, options.want_cas};
  Lookup lookup(table, reads, store.options().cas, now, sink);
  ReadAll(lookup, reads, section, statuses,
          [&](std::size_t i) { return GetLocked(keys[i], i, options, now, sink); });
}

void StoreSession::Impl::ReadDetailedBatch(std::span<const DetailedRead> reads, std::uint32_t now,
                                           ValueSink& sink, std::span<StoreStatus> statuses) {
  ReadSection section(reader);
  const DetailedReads detailed{reads, store.options().cas};
  Lookup lookup(table, detailed, store.options().cas, now, sink);
  ReadAll(lookup, detailed, section, statuses,
          [&](std::size_t i) { return GetDetailLocked(reads[i], i, now, sink); });
}

}  // namespace podcache::store
