// What stands behind Store: the parts, put together, and what sessions share.
//
// Threads: any. Lock order (store/README.md): reclaimer, partition, log, pool.
// Ownership: members are destroyed in reverse order; sessions, handles and pins must be gone
// before.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <thread>

#include "common/base/mutex.h"
#include "server/memory/allocation_gate.h"
#include "server/memory/memory_budget.h"
#include "server/memory/segment_pool.h"
#include "server/store/flush_state.h"
#include "server/store/index.h"
#include "server/store/index_eviction.h"
#include "server/store/item_table.h"
#include "server/store/key_hasher.h"
#include "server/store/reclaimer.h"
#include "server/store/restart_files.h"
#include "server/store/scan.h"
#include "server/store/segment_log.h"
#include "server/store/store.h"

namespace podcache::store {

// Sizes that follow from the memory limit at start; they stay when the limit changes.
struct StoreLayout {
  std::size_t segment_bytes;
  std::size_t partitions;
  std::size_t max_item_record_bytes;  // Above: a large item.
  std::size_t max_staged_bytes;       // Values up to this are collected outside of the log.
  std::size_t min_piece_bytes;        // Of a large value, except the last piece.
  std::size_t max_piece_bytes;        // Small enough to find room elsewhere without wasting much.
  std::size_t max_head_bytes;         // Record of a large item.

  static StoreLayout For(std::uint64_t limit_bytes, bool large_pages);
  static StoreLayout Of(std::size_t segment_bytes, std::size_t partitions);
  // Smallest memory limit that works.
  std::uint64_t MinLimitBytes() const noexcept;
};

class StoreImpl {
 public:
  // Warm if there is a memory file with items, else empty (store_restart.cc).
  static std::unique_ptr<StoreImpl> Make(const StoreOptions& options, const Clock& clock);
  ~StoreImpl();

  const StoreOptions& options() const noexcept { return options_; }
  const StoreLayout& layout() const noexcept { return layout_; }
  memory::AllocationGate& gate() noexcept { return gate_; }
  memory::MemoryBudget& budget() noexcept { return budget_; }
  const KeyHasher& hasher() const noexcept { return hasher_; }
  SegmentLog& log() noexcept { return log_; }
  ItemTable& table() noexcept { return table_; }

  // Seconds of the Unix epoch; makes a due flush happen. Before the partition lock of every
  // operation.
  std::uint32_t Now() noexcept;

  // Room for one record, reclaiming if necessary. No partition lock may be held. False: nothing can
  // be evicted.
  bool Refill(LogWriter& writer, std::size_t bytes, std::uint32_t epoch) noexcept;
  Reservation ReserveForPiece(std::size_t min_bytes, std::size_t max_bytes) noexcept;

  // Uploads under way may hold half the budget, a single one three quarters.
  bool BeginUpload(std::uint64_t bytes) noexcept;
  void EndUpload(std::uint64_t bytes) noexcept;

  std::uint64_t min_limit_bytes() const noexcept { return layout_.MinLimitBytes(); }
  std::uint64_t max_limit_bytes() const noexcept { return pool_.max_bytes(); }
  bool SetTarget(std::uint64_t target_bytes);
  ResizeState resize_state() const;
  void ChargeExternal(std::int64_t delta_bytes) noexcept;
  void MakeRoom() noexcept;
  void SetOverhead(std::uint64_t bytes) noexcept;
  void FlushAll(std::int64_t at_unix_seconds);
  StoreStats stats() const;
  std::uint32_t NextVictimIdleSeconds() noexcept { return reclaimer_.NextIdleSeconds(Now()); }
  bool MaintainOnce();
  // store_restart.cc
  const RestartReport& restart_report() const noexcept { return restart_report_; }
  bool Save(std::string& error);
  // scan.cc
  bool Scan(ScanCursor& cursor, ItemVisitor& visitor);
  void RequestSweep() noexcept;

 private:
  // Empty, and nothing happens in the background yet. `files` may be null.
  StoreImpl(const StoreOptions& options, const Clock& clock, const StoreLayout& layout,
            std::uint64_t hash_seed, std::unique_ptr<RestartFiles> files);
  void StartMaintenance();
  void StopMaintenance();
  bool Restore(SavedState& state);
  bool RestoreIndex(SavedState& state);
  bool SaveState();
  void EvictToLimit();

  // Free segments without which moving items does not get on.
  static constexpr std::int64_t kMinFree = SegmentLog::kMoveReserve + 1;

  template <class Attempt>
  bool Retry(Attempt&& attempt) noexcept;
  bool IsShort() const noexcept;
  std::int64_t WantedFree() const noexcept;
  bool IsShrinking() const noexcept { return budget_.target_bytes() < budget_.limit_bytes(); }
  ShrinkTask TaskNow(std::uint32_t now) const;
  void CommitSpare(std::int64_t segments);
  void MakeRoomAhead() noexcept;
  // By a writer, which waits for it meanwhile.
  bool ReclaimDirectly(ReclaimReason reason) noexcept;
  ReclaimReason Reason() const noexcept;
  void Wake() noexcept;
  void RunMaintenance();
  bool ShrinkOnce(std::uint32_t now);
  bool SweepOnce(std::uint32_t now);
  bool ShowEviction(std::uint32_t now);
  void LowerLimit();
  void ScanStep(ScanCursor& cursor, ItemVisitor& visitor, std::uint32_t now);
  ItemView ViewOf(Found& found, bool want_cas, std::uint32_t now) noexcept;

  const StoreOptions options_;
  const Clock& clock_;
  const StoreLayout layout_;
  memory::AllocationGate own_gate_;
  memory::AllocationGate& gate_;
  memory::MemoryBudget budget_;
  std::unique_ptr<RestartFiles> files_;
  memory::SegmentPool pool_;
  SegmentLog log_;
  Index index_;
  FlushState flush_;
  ItemTable table_;
  const KeyHasher hasher_;
  Reclaimer reclaimer_;
  IndexEviction index_eviction_;

  RestartReport restart_report_;

  std::atomic<std::uint64_t> upload_bytes_{0};
  std::atomic<std::uint64_t> direct_reclaims_{0};
  std::atomic<std::uint64_t> maintenance_runs_{0};
  std::atomic<std::int64_t> next_sweep_seconds_{0};
  // Tries left to show an observer an eviction.
  static constexpr int kNotObserved = -1;
  std::atomic<int> show_steps_{kNotObserved};
  std::atomic<std::uint64_t> evicted_before_show_{0};

  mutable Mutex resize_mutex_;
  std::uint64_t generation_ GUARDED_BY(resize_mutex_) = 0;
  std::uint64_t evicted_at_start_ GUARDED_BY(resize_mutex_) = 0;
  std::atomic<std::uint64_t> copied_at_start_{0};  // Of the resize under way.

  Mutex wake_mutex_;
  CondVar wake_;
  bool stop_ GUARDED_BY(wake_mutex_) = false;
  std::atomic<bool> woken_{false};
  std::thread maintenance_;
};

}  // namespace podcache::store
