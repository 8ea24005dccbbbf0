#include "server/store/store_impl.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <utility>
#include <vector>

#include "server/memory/pages.h"

namespace podcache::store {
namespace {

constexpr std::size_t kMinSegmentBytes = std::size_t{16} * 1024;
constexpr std::size_t kMaxSmallSegmentBytes = std::size_t{256} * 1024;
constexpr std::size_t kMaxSegmentBytes = std::size_t{2} << 20;
constexpr std::uint64_t kSmallBudgetBytes = std::uint64_t{1} << 30;
// Wanted number of segments.
constexpr std::uint64_t kSegmentsPerLimit = 256;
// A partition per this many pages of budget: its bucket array is then several pages, and rounding
// to pages costs little.
constexpr std::uint64_t kPagesPerPartition = 128;
constexpr std::uint64_t kMinPartitions = 16;
constexpr std::uint64_t kMaxPartitions = 16384;
constexpr std::uint64_t kMinSegments = 16;
constexpr std::size_t kMaxStagedBytes = std::size_t{64} * 1024;

// Of all segments the budget allows, one in this many is kept free, but at least kMinFree.
constexpr std::uint64_t kFreeDivisor = 128;
// Reclaiming before giving up on one allocation.
constexpr int kMaxInlineReclaims = 64;
// What somebody who has charged too much evicts and gives back before going on.
constexpr std::size_t kMaxHelpBytes = std::size_t{1} << 20;
// To show an observer an eviction.
constexpr int kMaxShowSteps = 64;
// Of those, so many may keep all of a segment when used items lie there side by side.
constexpr int kMaxPatientReclaims = 4;
// Expired items are looked for in at most so much memory a second, and at least every few seconds.
constexpr std::uint64_t kSweepBytesPerSecond = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxSweepPeriodSeconds = 10;
// Below this (memcached's own least) a few dozen values are the whole cache: who writes makes room
// ahead of the next one, an eighth of all, without waiting for the background thread.
constexpr std::uint64_t kTinyBudgetBytes = std::uint64_t{8} << 20;
constexpr std::int64_t kTinyFreeDivisor = 8;
constexpr int kMaxReclaimsAhead = 8;
constexpr auto kIdlePeriod = std::chrono::milliseconds(100);

// What the index does not know of the queues; all of its own is in `stats` already.
void AddQueues(const ReclaimCounters& reclaim, StoreStats& stats) {
  // Read one after the other, so that a part may be larger than the whole for a moment.
  const auto rest = [](std::uint64_t all, std::uint64_t part) { return all - std::min(all, part); };
  stats.small_queue.items = rest(stats.items, stats.main_queue.items);
  stats.small_queue.item_bytes = rest(stats.item_bytes, stats.main_queue.item_bytes);
  const auto add_evicted = [&](Line line, QueueStats& queue) {
    const ReclaimCounters::Evicted& for_room = reclaim.Of(line, EvictionCause::kCapacity);
    const ReclaimCounters::Evicted& by_shrink = reclaim.Of(line, EvictionCause::kShrink);
    queue.evicted_for_room_items = for_room.items.load(std::memory_order_relaxed);
    queue.evicted_for_room_bytes = for_room.bytes.load(std::memory_order_relaxed);
    queue.evicted_by_shrink_items = by_shrink.items.load(std::memory_order_relaxed);
    queue.evicted_by_shrink_bytes = by_shrink.bytes.load(std::memory_order_relaxed);
  };
  add_evicted(Line::kSmall, stats.small_queue);
  add_evicted(Line::kMain, stats.main_queue);
}

}  // namespace

StoreLayout StoreLayout::For(std::uint64_t limit_bytes, bool large_pages) {
  const std::size_t page = memory::PageBytes();
  const std::size_t most =
      limit_bytes < kSmallBudgetBytes ? kMaxSmallSegmentBytes : kMaxSegmentBytes;
  const std::size_t least = std::max(page, kMinSegmentBytes);
  std::size_t segment_bytes = std::clamp<std::size_t>(
      std::bit_floor(limit_bytes / kSegmentsPerLimit), least, std::max(least, most));
  if (large_pages && limit_bytes >= kMinLargePageLimitBytes) segment_bytes = kMaxSegmentBytes;
  return Of(segment_bytes, std::clamp(std::bit_floor(limit_bytes / (kPagesPerPartition * page)),
                                      kMinPartitions, kMaxPartitions));
}

StoreLayout StoreLayout::Of(std::size_t segment_bytes, std::size_t partitions) {
  StoreLayout layout{};
  layout.segment_bytes = segment_bytes;
  layout.partitions = partitions;
  layout.max_item_record_bytes = std::min(layout.segment_bytes / 16, kMaxItemRecordBytes);
  layout.max_staged_bytes = std::min(layout.segment_bytes / 4, kMaxStagedBytes);
  layout.min_piece_bytes = layout.segment_bytes / 8;
  layout.max_piece_bytes = layout.segment_bytes / 4;
  layout.max_head_bytes = layout.segment_bytes / 2;
  return layout;
}

std::uint64_t StoreLayout::MinLimitBytes() const noexcept {
  const std::uint64_t index = partitions * (2 * memory::PageBytes() + sizeof(Partition));
  return kMinSegments * segment_bytes + index;
}

StoreImpl::StoreImpl(const StoreOptions& options, const Clock& clock, const StoreLayout& layout,
                     std::uint64_t hash_seed, std::unique_ptr<RestartFiles> files)
    : options_(options),
      clock_(clock),
      layout_(layout),
      gate_(options.allocation_gate != nullptr ? *options.allocation_gate : own_gate_),
      budget_(options.memory_limit_bytes),
      files_(std::move(files)),
      pool_(layout_.segment_bytes, options.memory_limit_bytes, memory::PhysicalMemoryBytes(),
            budget_, gate_, files_ != nullptr ? &files_->data() : nullptr),
      log_(pool_),
      index_(layout_.partitions, budget_, gate_),
      table_(index_, log_, flush_),
      hasher_(hash_seed),
      reclaimer_(table_, hasher_, EvictionPolicy(options.eviction), options.evictions,
                 options.eviction_observer),
      index_eviction_(table_, hasher_, EvictionPolicy(options.eviction), reclaimer_, gate_) {}

StoreImpl::~StoreImpl() { StopMaintenance(); }

void StoreImpl::StartMaintenance() {
  if (options_.background_maintenance) maintenance_ = std::thread([this] { RunMaintenance(); });
}

void StoreImpl::StopMaintenance() {
  if (!maintenance_.joinable()) return;
  {
    MutexLock lock(wake_mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  maintenance_.join();
}

std::uint32_t StoreImpl::Now() noexcept {
  const std::int64_t now = clock_.WallSeconds();
  flush_.FireIfDue(now);
  return static_cast<std::uint32_t>(now);
}

// The first attempt leaves alone what moving items needs; after something was reclaimed even the
// last free segment is better used than refused.
template <class Attempt>
bool StoreImpl::Retry(Attempt&& attempt) noexcept {
  if (IsShort()) Wake();
  MakeRoomAhead();
  // In a shrink the background thread makes the room; what is free is not given back first.
  if (attempt(IsShrinking() ? Claim::kReclaimed : Claim::kWrite)) return true;
  for (int i = 0; i < kMaxInlineReclaims; ++i) {
    ReclaimReason reason = Reason();
    if (reason == ReclaimReason::kCapacity && i >= kMaxPatientReclaims) {
      reason = ReclaimReason::kUrgent;
    }
    const bool reclaimed = ReclaimDirectly(reason);
    if (attempt(Claim::kReclaimed)) return true;
    if (!reclaimed) break;
  }
  // Without eviction the last ones stay: compaction, the only way to make room, needs them.
  return options_.evictions && attempt(Claim::kMove);
}

bool StoreImpl::Refill(LogWriter& writer, std::size_t bytes, std::uint32_t epoch) noexcept {
  return Retry([&](Claim claim) { return writer.Refill(bytes, epoch, claim); });
}

Reservation StoreImpl::ReserveForPiece(std::size_t min_bytes, std::size_t max_bytes) noexcept {
  Reservation reservation;
  Retry([&](Claim claim) {
    reservation = log_.Reserve(Stream::kHead, min_bytes, max_bytes, flush_.epoch(), claim);
    return reservation.valid();
  });
  return reservation;
}

bool StoreImpl::BeginUpload(std::uint64_t bytes) noexcept {
  const std::uint64_t ceiling = budget_.ceiling_bytes();
  const std::uint64_t before = upload_bytes_.fetch_add(bytes, std::memory_order_relaxed);
  if (before == 0 ? bytes <= ceiling / 4 * 3 : before + bytes <= ceiling / 2) return true;
  EndUpload(bytes);
  return false;
}

void StoreImpl::EndUpload(std::uint64_t bytes) noexcept {
  upload_bytes_.fetch_sub(bytes, std::memory_order_relaxed);
}

bool StoreImpl::SetTarget(std::uint64_t target_bytes) {
  if (target_bytes < min_limit_bytes() || target_bytes > pool_.max_bytes()) return false;
  {
    MutexLock lock(resize_mutex_);
    ++generation_;
    copied_at_start_ = reclaimer_.counters().copied_bytes.load(std::memory_order_relaxed);
    evicted_at_start_ = reclaimer_.counters().EvictedItems(EvictionCause::kShrink);
    if (target_bytes < budget_.limit_bytes()) CommitSpare(WantedFree());
    budget_.SetTarget(target_bytes);
    if (target_bytes >= budget_.limit_bytes()) budget_.SetLimit(target_bytes);
  }
  LowerLimit();
  Wake();
  return true;
}

// What moves in a shrink needs room, and none is to be had above the new limit: the room that is
// left below the old one becomes segments that are free. They take no memory until they are used.
void StoreImpl::CommitSpare(std::int64_t segments) {
  std::vector<std::uint32_t> spare;
  for (; segments > 0; --segments) {
    spare.push_back(pool_.Take(0));
    if (spare.back() == kNoSegment) break;
  }
  for (const std::uint32_t id : spare) {
    if (id != kNoSegment) pool_.Give(id);
  }
}

ResizeState StoreImpl::resize_state() const {
  MutexLock lock(resize_mutex_);
  ResizeState state;
  state.target_bytes = budget_.target_bytes();
  state.limit_bytes = budget_.limit_bytes();
  // Growing is done at once: more segments are allowed.
  state.in_progress = state.limit_bytes != state.target_bytes;
  state.growing = state.limit_bytes < state.target_bytes;
  state.evicted_items =
      reclaimer_.counters().EvictedItems(EvictionCause::kShrink) - evicted_at_start_;
  state.generation = generation_;
  return state;
}

// The limit in force follows what has really been given back.
void StoreImpl::LowerLimit() {
  MutexLock lock(resize_mutex_);
  const std::uint64_t target = budget_.target_bytes();
  if (target >= budget_.limit_bytes()) return;
  budget_.SetLimit(std::max(target, std::min(budget_.limit_bytes(), budget_.used_bytes())));
}

void StoreImpl::ChargeExternal(std::int64_t delta_bytes) noexcept {
  budget_.AddExternal(delta_bytes);
  if (delta_bytes > 0 && IsShort()) Wake();
}

void StoreImpl::MakeRoom() noexcept {
  // A resize under way is over the budget for long; that is the background thread's work.
  if (budget_.headroom_bytes() >= 0 || Reason() != ReclaimReason::kCapacity) return;
  const std::uint32_t now = Now();
  // A segment takes two steps: it is emptied, then given back.
  const std::size_t steps = 2 + 2 * kMaxHelpBytes / layout_.segment_bytes;
  for (std::size_t i = 0; i < steps && budget_.headroom_bytes() < 0; ++i) {
    if (!ShrinkOnce(now)) return;
  }
}

void StoreImpl::SetOverhead(std::uint64_t bytes) noexcept {
  budget_.SetOverhead(bytes);
  Wake();
}

void StoreImpl::FlushAll(std::int64_t at_unix_seconds) {
  flush_.Schedule(at_unix_seconds, clock_.WallSeconds());
  Wake();
}

std::int64_t StoreImpl::WantedFree() const noexcept {
  const auto segments =
      static_cast<std::int64_t>(budget_.ceiling_bytes() / layout_.segment_bytes / kFreeDivisor);
  return std::max(segments, kMinFree);
}

bool StoreImpl::IsShort() const noexcept { return pool_.Available() < WantedFree(); }

void StoreImpl::MakeRoomAhead() noexcept {
  if (!options_.evictions || budget_.ceiling_bytes() >= kTinyBudgetBytes) return;
  const auto wanted =
      static_cast<std::int64_t>(budget_.ceiling_bytes() / layout_.segment_bytes) / kTinyFreeDivisor;
  for (int i = 0; i < kMaxReclaimsAhead && pool_.Available() < wanted; ++i) {
    if (!ReclaimDirectly(Reason())) return;
  }
}

bool StoreImpl::ReclaimDirectly(ReclaimReason reason) noexcept {
  if (!reclaimer_.ReclaimOne(reason, Now())) return false;
  direct_reclaims_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

// While shrinking, everything used is kept until as much was copied as can stay. Under load items
// are used again all the time: without that bound the shrink might never end.
ReclaimReason StoreImpl::Reason() const noexcept {
  if (!IsShrinking()) return ReclaimReason::kCapacity;
  const std::uint64_t copied = reclaimer_.counters().copied_bytes.load(std::memory_order_relaxed) -
                               copied_at_start_.load(std::memory_order_relaxed);
  return copied < budget_.target_bytes() ? ReclaimReason::kShrink : ReclaimReason::kShrinkFast;
}

bool StoreImpl::MaintainOnce() {
  const std::uint32_t now = Now();
  index_.FreeRetired();
  if (budget_.headroom_bytes() < 0) {
    const bool progress = ShrinkOnce(now);
    LowerLimit();
    return progress;
  }
  if (index_eviction_.AbandonStep()) return true;
  LowerLimit();
  if (IsShort() && reclaimer_.ReclaimOne(ReclaimReason::kCapacity, now)) return true;
  return ShowEviction(now) || SweepOnce(now);
}

// Whoever begins to observe the evictions of a cache that evicts is shown some at once, instead of
// after a segment's worth of writes. False when nothing is left to show.
bool StoreImpl::ShowEviction(std::uint32_t now) {
  if (options_.eviction_observer == nullptr) return false;
  if (!options_.eviction_observer->Wants()) {
    show_steps_.store(kNotObserved, std::memory_order_relaxed);
    return false;
  }
  const std::uint64_t evicted = reclaimer_.counters().EvictedItems();
  if (show_steps_.load(std::memory_order_relaxed) == kNotObserved) {
    evicted_before_show_.store(evicted, std::memory_order_relaxed);
    show_steps_.store(evicted > 0 ? kMaxShowSteps : 0, std::memory_order_relaxed);
  }
  const int steps = show_steps_.load(std::memory_order_relaxed);
  if (steps == 0 || evicted != evicted_before_show_.load(std::memory_order_relaxed)) {
    show_steps_.store(0, std::memory_order_relaxed);
    return false;
  }
  // Compaction comes first, so one step may not be enough.
  show_steps_.store(steps - 1, std::memory_order_relaxed);
  return reclaimer_.ReclaimOne(ReclaimReason::kCapacity, now);
}

ShrinkTask StoreImpl::TaskNow(std::uint32_t now) const {
  ShrinkTask task;
  {
    MutexLock lock(resize_mutex_);
    task.generation = generation_;
  }
  task.target_bytes = budget_.target_bytes();
  task.excess_bytes =
      static_cast<std::uint64_t>(std::max<std::int64_t>(0, -budget_.headroom_bytes()));
  task.free_segments = pool_.free_segments();
  task.reserve_segments = static_cast<std::uint32_t>(WantedFree());
  task.now = now;
  return task;
}

// Over the budget. Moving used items out of the way needs a few free segments, so those go last;
// those who write during a shrink, too.
bool StoreImpl::ShrinkOnce(std::uint32_t now) {
  const bool shrinking = IsShrinking();
  if (shrinking && index_eviction_.Step(TaskNow(now))) return true;
  const std::int64_t keep = shrinking ? WantedFree() : SegmentLog::kMoveReserve;
  if (pool_.free_segments() > keep && pool_.DecommitOne()) return true;
  if (reclaimer_.ReclaimOne(Reason(), now)) return true;
  return pool_.DecommitOne();
}

bool StoreImpl::SweepOnce(std::uint32_t now) {
  if (!flush_.sweep_pending() && now < next_sweep_seconds_.load(std::memory_order_relaxed))
    return false;
  if (reclaimer_.SweepOne(now)) return true;
  const std::uint64_t period = std::clamp<std::uint64_t>(
      budget_.segment_bytes() / kSweepBytesPerSecond, 1, kMaxSweepPeriodSeconds);
  next_sweep_seconds_.store(now + static_cast<std::int64_t>(period), std::memory_order_relaxed);
  return false;
}

void StoreImpl::RequestSweep() noexcept {
  next_sweep_seconds_.store(0, std::memory_order_relaxed);
  Wake();
}

void StoreImpl::Wake() noexcept {
  if (!options_.background_maintenance || woken_.exchange(true, std::memory_order_relaxed)) return;
  MutexLock lock(wake_mutex_);
  wake_.NotifyOne();
}

void StoreImpl::RunMaintenance() {
  for (;;) {
    maintenance_runs_.fetch_add(1, std::memory_order_relaxed);
    while (MaintainOnce()) {
      MutexLock lock(wake_mutex_);
      if (stop_) return;
    }
    MutexLock lock(wake_mutex_);
    if (!stop_ && !woken_.load(std::memory_order_relaxed)) wake_.WaitFor(wake_mutex_, kIdlePeriod);
    woken_.store(false, std::memory_order_relaxed);
    if (stop_) return;
    pool_.ForgetRefusal();
  }
}

StoreStats StoreImpl::stats() const {
  StoreStats stats;
  stats.memory_limit_bytes = budget_.limit_bytes();
  stats.memory_target_bytes = budget_.target_bytes();
  stats.segment_bytes = budget_.segment_bytes();
  stats.index_bytes = budget_.index_bytes();
  stats.external_bytes = budget_.external_bytes();
  stats.overhead_bytes = budget_.overhead_bytes();
  stats.segment_size_bytes = layout_.segment_bytes;
  stats.segments_free = pool_.free_segments();
  stats.segments_open = log_.open_segments();
  stats.segments_sealed = log_.sealed_segments();
  const std::uint64_t used = stats.segments_open + stats.segments_sealed;
  stats.page_bytes =
      (used + kSegmentsPerPage - 1) / kSegmentsPerPage * kSegmentsPerPage * layout_.segment_bytes;
  stats.free_segment_bytes = stats.segments_free * layout_.segment_bytes;
  stats.dead_bytes = log_.dead_bytes();
  for (std::size_t i = 0; i < index_.partition_count(); ++i) {
    const Partition& partition = index_.partition(i);
    stats.items += partition.items.Read();
    stats.item_bytes += partition.item_bytes.Read();
    stats.main_queue.items += partition.main_items.Read();
    stats.main_queue.item_bytes += partition.main_item_bytes.Read();
    stats.ghosts += partition.ghosts.Read();
    stats.total_items += partition.total_items.Read();
    stats.stored_bytes += partition.stored_bytes.Read();
    stats.reclaimed_items += partition.reclaimed.Read();
    stats.expired_items += partition.expired.Read();
    stats.expired_unfetched_items += partition.expired_unfetched.Read();
  }
  // Reserved but not written, and padding.
  const std::uint64_t accounted = stats.free_segment_bytes + stats.dead_bytes + stats.item_bytes;
  stats.slack_bytes = stats.segment_bytes > accounted ? stats.segment_bytes - accounted : 0;
  stats.index_entries = stats.items;
  stats.index_slots = index_.slots();
  const ReclaimCounters& reclaim = reclaimer_.counters();
  stats.evicted_items = reclaim.EvictedItems();
  AddQueues(reclaim, stats);
  stats.evicted_unfetched_items = reclaim.evicted_unfetched_items.load(std::memory_order_relaxed);
  stats.expired_in_sweep_items = reclaim.expired_in_sweep_items.load(std::memory_order_relaxed);
  stats.expired_in_segment_items = reclaim.expired_in_segment_items.load(std::memory_order_relaxed);
  stats.evicted_active_items = reclaim.evicted_active_items.load(std::memory_order_relaxed);
  stats.kept_items = reclaim.kept_items.load(std::memory_order_relaxed);
  stats.direct_reclaims = direct_reclaims_.load(std::memory_order_relaxed);
  stats.maintenance_runs = maintenance_runs_.load(std::memory_order_relaxed);
  stats.evicted_with_exptime_items =
      reclaim.evicted_with_exptime_items.load(std::memory_order_relaxed);
  stats.last_evicted_idle_seconds =
      reclaim.last_evicted_idle_seconds.load(std::memory_order_relaxed);
  stats.swept_items = reclaim.swept_items.load(std::memory_order_relaxed);
  stats.sweeps = reclaim.sweeps.load(std::memory_order_relaxed);
  stats.compacted_segments = reclaim.compacted_segments.load(std::memory_order_relaxed);
  stats.popularity_shifts = reclaim.shifts.load(std::memory_order_relaxed);
  stats.refuted_shifts = reclaim.refuted_shifts.load(std::memory_order_relaxed);
  stats.restored_items = restart_report_.items;
  stats.restored_seconds = restart_report_.seconds;
  stats.copied_bytes = reclaim.copied_bytes.load(std::memory_order_relaxed);
  return stats;
}

}  // namespace podcache::store
