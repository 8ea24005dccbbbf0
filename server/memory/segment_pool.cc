#include "server/memory/segment_pool.h"

#include <algorithm>
#include <bit>

#include "common/base/check.h"
#include "server/memory/pages.h"
#include "server/memory/poison.h"

namespace podcache::memory {
namespace {

constexpr std::size_t kRangeAlignment = std::size_t{2} << 20;

}  // namespace

SegmentPool::SegmentPool(std::size_t segment_bytes, std::uint64_t min_bytes,
                         std::uint64_t max_bytes, MemoryBudget& budget, AllocationGate& gate)
    : budget_(budget), gate_(gate), shift_(static_cast<unsigned>(std::countr_zero(segment_bytes))) {
  PODCACHE_CHECK(std::has_single_bit(segment_bytes) && segment_bytes % PageBytes() == 0);
  std::uint64_t bytes = std::max(min_bytes, max_bytes);
  for (;; bytes = std::max(min_bytes, bytes / 2)) {
    // One more than asked for: segment 0 is never used.
    range_bytes_ = RoundUp(bytes, segment_bytes) + segment_bytes;
    base_ = ReserveRange(range_bytes_, std::max(kRangeAlignment, segment_bytes));
    if (base_ != nullptr || bytes == min_bytes) break;
  }
  PODCACHE_CHECK(base_ != nullptr);
  AdviseHugePages(base_, range_bytes_, segment_bytes);
  id_limit_ = static_cast<std::uint32_t>(range_bytes_ >> shift_);
  links_ = reinterpret_cast<std::uint32_t*>(MapPages(sizeof(std::uint32_t) * id_limit_));
  PODCACHE_CHECK(links_ != nullptr);
}

SegmentPool::~SegmentPool() {
  // The sanitizer's marks outlive a mapping: whoever gets these addresses next must not trip over
  // them.
  Unpoison(base_, std::size_t{next_unused_.load()} << shift_);
  UnmapPages(base_, range_bytes_);
  UnmapPages(reinterpret_cast<char*>(links_), sizeof(std::uint32_t) * id_limit_);
}

std::int64_t SegmentPool::Available() const noexcept {
  // An arithmetic shift rounds down, also below zero.
  return static_cast<std::int64_t>(free_segments()) + (budget_.headroom_bytes() >> shift_);
}

std::uint32_t SegmentPool::Take(std::int64_t keep) noexcept {
  MutexLock lock(mutex_);
  if (Available() <= keep) return kNoSegment;
  const std::uint32_t id = PopLocked(free_head_);
  if (id == kNoSegment) return CommitLocked();
  free_count_.fetch_sub(1, std::memory_order_relaxed);
  return id;
}

std::uint32_t SegmentPool::TakeCommitted(std::int64_t keep) noexcept {
  MutexLock lock(mutex_);
  if (static_cast<std::int64_t>(free_segments()) <= keep) return kNoSegment;
  const std::uint32_t id = PopLocked(free_head_);
  if (id != kNoSegment) free_count_.fetch_sub(1, std::memory_order_relaxed);
  return id;
}

void SegmentPool::Give(std::uint32_t id) noexcept {
  Poison(Address(id), segment_bytes());
  MutexLock lock(mutex_);
  PushLocked(free_head_, id);
  free_count_.fetch_add(1, std::memory_order_relaxed);
}

bool SegmentPool::DecommitOne() noexcept {
  const std::uint32_t id = TakeCommitted(0);
  if (id == kNoSegment) return false;
  DecommitPages(Address(id), segment_bytes());
  budget_.AddSegments(-static_cast<std::int64_t>(segment_bytes()));
  MutexLock lock(mutex_);
  PushLocked(decommitted_head_, id);
  return true;
}

std::uint32_t SegmentPool::CommitLocked() noexcept {
  if (!gate_.Allow()) return kNoSegment;
  std::uint32_t id = PopLocked(decommitted_head_);
  if (id == kNoSegment) {
    id = next_unused_.load(std::memory_order_relaxed);
    if (id == id_limit_ || !CommitPages(Address(id), segment_bytes())) return kNoSegment;
    next_unused_.store(id + 1, std::memory_order_relaxed);
    Poison(Address(id), segment_bytes());
  }
  budget_.AddSegments(static_cast<std::int64_t>(segment_bytes()));
  return id;
}

std::uint32_t SegmentPool::PopLocked(std::uint32_t& head) noexcept {
  const std::uint32_t id = head;
  if (id != kNoSegment) head = links_[id];
  return id;
}

void SegmentPool::PushLocked(std::uint32_t& head, std::uint32_t id) noexcept {
  links_[id] = head;
  head = id;
}

}  // namespace podcache::memory
