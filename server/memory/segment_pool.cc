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
                         std::uint64_t max_bytes, MemoryBudget& budget, AllocationGate& gate,
                         MemoryFile* file)
    : budget_(budget),
      gate_(gate),
      file_(file),
      shift_(static_cast<unsigned>(std::countr_zero(segment_bytes))) {
  PODCACHE_CHECK(std::has_single_bit(segment_bytes) && segment_bytes % PageBytes() == 0);
  std::uint64_t bytes = std::max(min_bytes, max_bytes);
  for (;; bytes = std::max(min_bytes, bytes / 2)) {
    // One more than asked for: segment 0 is never used.
    range_bytes_ = RoundUp(bytes, segment_bytes) + segment_bytes;
    const std::size_t alignment = std::max(kRangeAlignment, segment_bytes);
    base_ = file_ != nullptr ? file_->MapRange(range_bytes_, alignment)
                             : ReserveRange(range_bytes_, alignment);
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
  const std::int64_t more = budget_.headroom_bytes() >> shift_;
  return static_cast<std::int64_t>(free_segments()) +
         (refused() ? std::min<std::int64_t>(more, 0) : more);
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
  Decommit(id);
  ForgetRefusal();
  budget_.AddSegments(-static_cast<std::int64_t>(segment_bytes()));
  MutexLock lock(mutex_);
  PushLocked(decommitted_head_, id);
  return true;
}

std::uint32_t SegmentPool::CommitLocked() noexcept {
  if (!gate_.Allow()) return kNoSegment;
  std::uint32_t id = PopLocked(decommitted_head_);
  const bool first_use = id == kNoSegment;
  if (first_use) id = next_unused_.load(std::memory_order_relaxed);
  if (id == id_limit_) return kNoSegment;
  if (!Commit(id, first_use)) {
    if (!first_use) PushLocked(decommitted_head_, id);
    refused_.store(true, std::memory_order_relaxed);
    return kNoSegment;
  }
  if (first_use) {
    next_unused_.store(id + 1, std::memory_order_relaxed);
    Poison(Address(id), segment_bytes());
  }
  budget_.AddSegments(static_cast<std::int64_t>(segment_bytes()));
  return id;
}

// Memory of a file is taken for good before it is used: a page that is not there when it is touched
// would end the process.
bool SegmentPool::Commit(std::uint32_t id, bool first_use) noexcept {
  if (file_ != nullptr && !file_->Allocate(OffsetOf(id), segment_bytes())) return false;
  return !first_use || CommitPages(Address(id), segment_bytes());
}

void SegmentPool::Decommit(std::uint32_t id) noexcept {
  if (file_ != nullptr) {
    file_->Free(OffsetOf(id), segment_bytes());
  } else {
    DecommitPages(Address(id), segment_bytes());
  }
}

bool SegmentPool::Adopt(std::uint32_t used_id_limit,
                        std::span<const std::uint32_t> taken) noexcept {
  MutexLock lock(mutex_);
  if (used_id_limit > id_limit_ || taken.size() >= used_id_limit) return false;
  if (used_id_limit > 1 && !CommitPages(Address(1), OffsetOf(used_id_limit - 1))) return false;
  for (const std::uint32_t id : taken) {
    if (!file_->Allocate(OffsetOf(id), segment_bytes())) return false;
  }
  next_unused_.store(used_id_limit, std::memory_order_relaxed);
  // The links serve as marks until the list is made.
  constexpr std::uint32_t kTaken = UINT32_MAX;
  for (const std::uint32_t id : taken) links_[id] = kTaken;
  for (std::uint32_t id = used_id_limit; --id > kNoSegment;) {
    if (links_[id] == kTaken) continue;
    Poison(Address(id), segment_bytes());
    PushLocked(decommitted_head_, id);
  }
  budget_.AddSegments(static_cast<std::int64_t>(taken.size() * segment_bytes()));
  return true;
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
