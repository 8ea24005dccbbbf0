// The cache: keys to items within one memory budget.
//
// Purpose: owns item memory, the index, eviction and expiry, and hides partitions, locks and
// segments. Knows no protocol and no sockets.
//
// Threads: `Store` is shared. All data operations go through a `StoreSession`, of which each worker
// thread owns one; a session is used by one thread at a time. Every operation is atomic on its key
// against all others.
//
// Budget: `memory_limit` covers segments, index and whatever is charged with ChargeExternal
// (buffers, connections). RSS is the contract: memory given up goes back to the kernel.
//
// Time: exptime is absolute, in seconds of the Unix epoch, 0 = never; what the protocols allow is
// converted before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/output_buffer.h"
#include "server/memory/allocation_gate.h"
#include "server/metrics/worker_counters.h"
#include "server/store/eviction_observer.h"
#include "server/store/eviction_policy.h"
#include "server/store/item_read.h"
#include "server/store/key.h"
#include "server/store/scan.h"
#include "server/store/store_status.h"

namespace podcache::store {

// An exptime already past: what a negative expiry in a request becomes.
inline constexpr std::int64_t kExpiredImmediately = -1;
inline constexpr std::int64_t kNeverExpires = 0;
// Values above this are pinned and sent from where they lie instead of being copied.
inline constexpr std::size_t kMaxCopiedValueBytes = std::size_t{16} * 1024;

// Below, segments as large as a large page would be too few.
inline constexpr std::uint64_t kMinLargePageLimitBytes = std::uint64_t{256} << 20;

// A "page" in figures made for memcached's eyes: a megabyte at the usual sizes.
inline constexpr std::uint64_t kSegmentsPerPage = 4;

struct StoreOptions {
  std::uint64_t memory_limit_bytes = 64ULL << 20;
  // Largest value plus key that is accepted; protocol.md 1 allows a tolerance of 1 KiB either way.
  std::uint64_t max_item_size_bytes = 1ULL << 20;
  bool evictions = true;
  EvictionKind eviction = EvictionKind::kS3Fifo;
  bool cas = true;
  // Segments of the size of a large page, if the limit is not too small for that.
  bool large_pages = false;
  // Items lie in this file and outlive the process if Save is called at its end. Empty: in
  // anonymous memory.
  std::string memory_file;
  // Seed of the hash; 0 = random per process. Fixed in tests.
  std::uint64_t hash_seed = 0;
  // Off: nothing happens in the background, the owner calls Store::MaintainOnce. For deterministic
  // tests.
  bool background_maintenance = true;
  // Told of evicted items; may be null.
  EvictionObserver* eviction_observer = nullptr;
  // Makes allocations fail in tests; outlives the store.
  memory::AllocationGate* allocation_gate = nullptr;
};

struct ReadOptions {
  bool want_cas = false;
  // gat: also sets the expiry.
  bool set_exptime = false;
  std::int64_t exptime = 0;
};

// An item that is at hand as a whole.
struct WholeItem {
  Key key;
  std::string_view value;
  std::uint32_t client_flags = 0;
  std::int64_t exptime = kNeverExpires;
};

enum class WriteMode : std::uint8_t { kSet, kAdd, kReplace, kAppend, kPrepend, kCas };

struct WriteResult {
  StoreStatus status = StoreStatus::kNotStored;
  std::uint64_t cas = 0;          // Of the stored item, where the caller asked for it.
  std::uint64_t value_bytes = 0;  // Of the stored item.
};

struct WriteOptions {
  WriteMode mode = WriteMode::kSet;
  // kCas: must match. kAppend, kPrepend: must match if not 0.
  std::uint64_t compare_cas = 0;
  bool want_cas = false;
  // kCas: an item that is newer, by its higher CAS id, is replaced too, but the new one is stale.
  bool stale_if_older = false;
  // kAppend, kPrepend: a missing item is stored as if by kSet.
  bool create = false;
  // Not 0: the CAS id the item gets, instead of one made here.
  std::uint64_t set_cas = 0;
};

// What Invalidate does to an item. With neither of the first two nothing of it is left.
struct InvalidateOptions {
  bool mark_stale = false;  // Whoever reads it is told, and one reader is asked to renew it.
  bool drop_value = false;  // Leaves an empty item, without expiry and with these flags:
  std::uint32_t client_flags = 0;
  bool compare = false;  // Only an item with this CAS id.
  std::uint64_t compare_cas = 0;
  std::uint64_t set_cas = 0;  // Not 0: the CAS id of what is left, instead of a new one.
  bool set_exptime = false;
  std::int64_t exptime = 0;
};

struct ArithmeticOptions {
  bool increment = true;
  std::uint64_t delta = 1;
  // Not 0: an item that is there is changed only if it has this CAS id.
  std::uint64_t compare_cas = 0;
  bool want_cas = false;
  // A missing item is created with this number and expiry, in the same atomic step.
  bool create = false;
  std::uint64_t initial = 0;
  std::int64_t exptime = 0;
  // An item that is there also gets this expiry.
  bool set_exptime = false;
  std::int64_t new_exptime = 0;
  // Not 0: the CAS id the item gets, instead of one made here.
  std::uint64_t set_cas = 0;
};

enum class Presence : std::uint8_t { kMissing, kLive, kExpired, kFlushed };

// An item as it is at a moment.
struct Glimpse {
  Presence presence = Presence::kMissing;
  std::uint64_t value_bytes = 0;
  std::int64_t exptime = 0;  // Absolute; 0 = never.
};

struct ArithmeticResult {
  StoreStatus status = StoreStatus::kNotFound;
  bool created = false;
  std::uint64_t value = 0;          // The new number.
  std::uint64_t cas = 0;            // Of the item, where the caller asked for it.
  std::int64_t exptime_before = 0;  // Of an item that was there.
};

// The memory file, or what lies beside it, may be somebody else's or cannot be used: nothing of it
// has been touched.
class UnusableMemoryFile : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What came of the memory file at the start.
struct RestartReport {
  bool warm = false;
  // Why the items that may have been there are gone; empty if there were none.
  std::string cold_reason;
  // What somebody should know who reads the log.
  std::vector<std::string> notes;
  std::uint64_t items = 0;
  double seconds = 0;
};

class StoreImpl;
class StoreSession;

// Room for one new item: filled piece by piece (straight from the socket for large values), then
// committed. The destructor gives uncommitted room back. Not visible to readers before Commit.
class WriteHandle {
 public:
  WriteHandle() noexcept;
  WriteHandle(WriteHandle&&) noexcept;
  WriteHandle& operator=(WriteHandle&&) noexcept;
  ~WriteHandle();

  bool valid() const noexcept { return impl_ != nullptr; }
  // What it was prepared for. The key's bytes are here until Commit.
  Key key() const noexcept;
  std::uint64_t value_bytes() const noexcept;
  std::int64_t exptime() const noexcept;
  // The next contiguous piece still to be filled; empty when the value is complete. Valid until
  // Advance.
  std::span<char> Writable() noexcept;
  void Advance(std::size_t n) noexcept;

 private:
  friend class StoreSession;
  friend class StoreImpl;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// A queue in which items wait for eviction.
struct QueueStats {
  std::uint64_t items = 0;
  std::uint64_t item_bytes = 0;
  // Since start; never fall.
  std::uint64_t evicted_for_room_items = 0;
  std::uint64_t evicted_for_room_bytes = 0;
  std::uint64_t evicted_by_shrink_items = 0;
  std::uint64_t evicted_by_shrink_bytes = 0;
};

// What the outside sees of the store's state; read without stopping anybody.
struct StoreStats {
  std::uint64_t memory_limit_bytes = 0;   // In force.
  std::uint64_t memory_target_bytes = 0;  // Asked for.
  std::uint64_t items = 0;
  std::uint64_t item_bytes = 0;     // Live items with their headers: `bytes` in stats.
  std::uint64_t segment_bytes = 0;  // Committed segment memory.
  std::uint64_t index_bytes = 0;
  std::uint64_t external_bytes = 0;  // Charged from outside.
  std::uint64_t overhead_bytes = 0;  // Of the process, as far as it is charged.
  std::uint64_t free_segment_bytes = 0;
  std::uint64_t dead_bytes = 0;
  std::uint64_t slack_bytes = 0;
  std::uint64_t segment_size_bytes = 0;
  // Segments that hold or held items, in whole pages of kSegmentsPerPage: what is shown where
  // memcached shows its slab pages.
  std::uint64_t page_bytes = 0;
  std::uint64_t segments_free = 0;
  std::uint64_t segments_open = 0;
  std::uint64_t segments_sealed = 0;
  QueueStats small_queue;    // Of new items; all of them if there is only one queue.
  QueueStats main_queue;     // Of items that were used again.
  std::uint64_t ghosts = 0;  // Items that were evicted and would be known again.
  std::uint64_t index_entries = 0;
  std::uint64_t index_slots = 0;
  // Since start, over all threads; never fall.
  std::uint64_t evicted_items = 0;  // From all queues.
  std::uint64_t evicted_unfetched_items = 0;
  std::uint64_t evicted_active_items = 0;  // Used since they were stored or last kept.
  std::uint64_t evicted_with_exptime_items = 0;
  std::uint64_t kept_items = 0;                 // Given a second chance instead of being evicted.
  std::uint64_t direct_reclaims = 0;            // Segments that a writer had to empty itself.
  std::uint64_t maintenance_runs = 0;           // Times that the background thread woke up.
  std::uint64_t last_evicted_idle_seconds = 0;  // Not a sum: of the latest one.
  std::uint64_t expired_unfetched_items = 0;
  std::uint64_t expired_items = 0;
  std::uint64_t expired_in_sweep_items = 0;  // Of those: found by a sweep,
  std::uint64_t expired_in_segment_items =
      0;  // or in a segment that was reclaimed; the others by who looked for them.
  std::uint64_t swept_items = 0;  // Looked at by sweeps for expired and flushed ones.
  std::uint64_t sweeps = 0;
  std::uint64_t reclaimed_items = 0;
  std::uint64_t total_items = 0;
  std::uint64_t stored_bytes = 0;
  std::uint64_t copied_bytes = 0;
  std::uint64_t compacted_segments = 0;
  // Times that other items became popular at a stroke, and of those, how often that proved wrong.
  std::uint64_t popularity_shifts = 0;
  std::uint64_t refuted_shifts = 0;
  // By a warm restart; 0 when cold.
  std::uint64_t restored_items = 0;
  double restored_seconds = 0;
};

// State of the resize under way, for progress reports.
struct ResizeState {
  bool in_progress = false;
  bool growing = false;
  std::uint64_t target_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t evicted_items = 0;  // By this resize.
  std::uint64_t generation = 0;     // Counts resizes asked for.
};

class Store {
 public:
  // `clock` outlives the store. Throws UnusableMemoryFile, and bad_alloc.
  Store(const StoreOptions& options, const Clock& clock);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  // `counters` outlives the session. Any thread.
  std::unique_ptr<StoreSession> NewSession(metrics::WorkerCounters& counters);

  // Smallest limit that still works: what a lower request is refused with.
  std::uint64_t min_memory_limit_bytes() const noexcept;
  // Largest limit this process can grow to (reserved address space).
  std::uint64_t max_memory_limit_bytes() const noexcept;

  // Live resize. Returns at once; the background thread evicts to the target and returns pages to
  // the kernel. A newer target supersedes an older one. Returns false (nothing changed) outside the
  // limits above. Any thread.
  bool SetMemoryTarget(std::uint64_t target_bytes);
  ResizeState resize_state() const;

  // Memory held by others under the same budget (connection and reply buffers), as a delta. Any
  // thread.
  void ChargeExternal(std::int64_t delta_bytes) noexcept;
  // For whoever has charged much at once: evicts a little if that was more than there is, so that
  // memory is not taken faster than the background thread gives it back. Call it with no lock held.
  void MakeRoom() noexcept;
  // What the process itself keeps resident, apart from all that is charged: counts against the
  // limit up to a 64th of it.
  void SetOverhead(std::uint64_t bytes) noexcept;

  // Items written before the moment `at_unix_seconds` (0 = now) are gone from then on.
  void FlushAll(std::int64_t at_unix_seconds);

  StoreStats stats() const;
  // For how long the next item to be evicted has not been used; 0 while nothing waits for eviction.
  // Looks for it: not for every request.
  std::uint32_t NextVictimIdleSeconds();

  const RestartReport& restart_report() const noexcept;
  // The last call: all items stay in the memory file for the next process. Sessions, handles and
  // pins are gone. False with a reason if that is not possible: then they are lost. Without a file
  // there is nothing to do.
  bool Save(std::string& error);

  // One step of a walk over all items (scan.h); false when it has ended. Any thread.
  bool Scan(ScanCursor& cursor, ItemVisitor& visitor);
  // Expired items are removed soon, instead of some time later. Any thread.
  void RequestSweep() noexcept;

  // One bounded step of what the background thread does: evict or give memory back when over the
  // budget, keep a few segments free, remove what expired or was flushed. False when nothing was
  // left to do. Any thread.
  bool MaintainOnce();

 private:
  friend class StoreSession;
  std::unique_ptr<StoreImpl> impl_;
};

class StoreSession {
 public:
  ~StoreSession();
  StoreSession(const StoreSession&) = delete;
  StoreSession& operator=(const StoreSession&) = delete;

  Key MakeKey(std::string_view bytes) const noexcept;
  // False: items have no CAS ids (StoreOptions::cas).
  bool has_cas() const noexcept;

  // Looks all keys up (at most kMaxBatch), in order. statuses[i] is kOk or kNotFound; the latter
  // also when an expiry was to be set and there is no memory for it.
  static constexpr std::size_t kMaxBatch = 16;
  void Get(std::span<const Key> keys, const ReadOptions& options, ValueSink& sink,
           std::span<StoreStatus> statuses);

  // The same, with options for each key, details of the items, leases, and items made on a miss.
  // kOutOfMemory also when an item should have been made.
  void GetDetailed(std::span<const DetailedRead> reads, ValueSink& sink,
                   std::span<StoreStatus> statuses);

  // Looks without leaving a trace, not even that it has expired.
  Glimpse Peek(const Key& key) noexcept;

  // Stores all (at most kMaxBatch), in order; each is what Prepare and a Commit with kSet would
  // make of it. statuses[i] is kStored, kTooLarge or kOutOfMemory; if not the first, the old value
  // has been deleted.
  void Set(std::span<const WholeItem> items, std::span<StoreStatus> statuses);

  // kOk gives a handle; kTooLarge, kOutOfMemory do not. A failed set must also delete the old
  // value: callers do that.
  StoreStatus Prepare(const Key& key, std::uint64_t value_bytes, std::uint32_t client_flags,
                      std::int64_t exptime, WriteHandle& handle);
  // Consumes the handle, whatever the answer. kNotStored if the value is not complete. A set that
  // fails for lack of memory has deleted the old value.
  WriteResult Commit(WriteHandle& handle, const WriteOptions& options);

  // kExists if the item has another CAS id than `compare_cas`, and that is not 0.
  StoreStatus Delete(const Key& key, std::uint64_t compare_cas = 0);
  // kOk, kNotFound, kExists (another CAS id) or kOutOfMemory: then nothing has changed.
  StoreStatus Invalidate(const Key& key, const InvalidateOptions& options);
  // `meta`, if given, gets the item as it is then, with its CAS id.
  StoreStatus Touch(const Key& key, std::int64_t exptime, ItemMeta* meta = nullptr);
  // kOk with the new number, kNotFound, kExists (another CAS id), kNotNumeric or kOutOfMemory. incr
  // wraps at 2^64, decr stops at 0.
  ArithmeticResult Arithmetic(const Key& key, const ArithmeticOptions& options);

  // The end of an event-loop turn: no pointer from this session into item memory is in use any
  // more, pins excepted.
  void EndTurn() noexcept;

 private:
  friend class Store;
  struct Impl;
  explicit StoreSession(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::store
