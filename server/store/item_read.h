// What a read asks for and gets: plain options for runs of like keys, and detailed ones, key by
// key, with leases.
//
// A lease is the right, given to exactly one reader, to make an item anew while the others wait or
// take what is there: given when an item is made on a miss, when little of its time is left, or
// when it is stale. It ends with the next write of the item or when the item is marked stale again.
//
// Threads: plain values.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/output_buffer.h"
#include "server/store/key.h"

namespace podcache::store {

enum class Lease : std::uint8_t {
  kNone,
  kVivify,   // The item was made on a miss and is empty.
  kRecache,  // Less of its time was left than the reader wants.
  kStale,
};

struct ItemMeta {
  std::uint32_t client_flags = 0;
  std::uint64_t cas = 0;     // Only if asked for.
  std::int64_t exptime = 0;  // As stored, absolute: 0 = never.
  std::uint64_t value_bytes = 0;

  // Of detailed reads only. The state is the one this read found.
  bool has_value = true;  // False: nothing is copied, what Begin returns is not used.
  bool created = false;
  bool stale = false;
  bool fetched = false;
  std::uint32_t idle_seconds = 0;  // Since the last use; a few days at most.
  Lease won = Lease::kNone;        // Given to this reader.
  Lease held = Lease::kNone;       // Somebody else has it.
  std::uint64_t item_bytes = 0;    // With header and key; only if asked for.
};

// Receives found items. `Begin` may be called again for the same index if a concurrent write forces
// a retry: the sink then rewinds to where that item began.
class ValueSink {
 public:
  // Returns where to put meta.value_bytes (≤ kMaxCopiedValueBytes) bytes of value.
  virtual char* Begin(std::size_t index, const ItemMeta& meta) = 0;
  // The value put there is complete and consistent.
  virtual void End(std::size_t index, const ItemMeta& meta) = 0;
  // Instead of Begin/End for larger values: ownership of the pin goes to the sink.
  virtual void Pinned(std::size_t index, const ItemMeta& meta,
                      std::unique_ptr<PinnedBytes> value) = 0;

 protected:
  ~ValueSink() = default;
};

struct DetailedRead {
  Key key;
  bool want_value = false;
  bool want_cas = false;
  // False: leaves no trace in what decides about eviction, nor in `fetched` and `idle_seconds`.
  bool counts_as_use = true;
  // False: who only looks is not asked to renew a stale item; the next reader is.
  bool may_win = true;
  // The value is left out if the item has this CAS id.
  bool skip_known = false;
  bool set_exptime = false;
  // A lease if the item expires before `recache_before`, judged by the expiry it has after this
  // read sets another one, if `recache_after_set`.
  bool recache = false;
  bool recache_after_set = false;
  // A missing item is made, empty, and the reader gets the lease.
  bool create = false;
  bool want_item_bytes = false;
  std::uint64_t known_cas = 0;
  std::int64_t exptime = 0;
  std::int64_t recache_before = 0;
  std::int64_t create_exptime = 0;
  std::uint64_t create_cas = 0;  // Not 0: the CAS id of a created item.
};

}  // namespace podcache::store
