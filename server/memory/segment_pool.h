// Equal segments of memory in one reserved address range: committed on first use, kept for reuse,
// given back to the kernel when the budget shrinks.
//
// Threads: any; one mutex, innermost in the lock order, never held during a system call that frees
// pages. Invariants: segment 0 is never handed out, so that offset 0 can mean "nothing". A free
// segment is poisoned for the address sanitizer; who takes one unpoisons what it uses. Ownership:
// the pool owns the range; a taken segment belongs to the taker until Give. The memory is anonymous
// or that of a MemoryFile, which outlives the pool.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>

#include "common/base/mutex.h"
#include "server/memory/allocation_gate.h"
#include "server/memory/memory_budget.h"
#include "server/memory/memory_file.h"

namespace podcache::memory {

inline constexpr std::uint32_t kNoSegment = 0;

class SegmentPool {
 public:
  // `segment_bytes` is a power of two and a multiple of the page. The range is as large as
  // `max_bytes` if the system grants it, less otherwise, but at least `min_bytes`. `file` may be
  // null.
  SegmentPool(std::size_t segment_bytes, std::uint64_t min_bytes, std::uint64_t max_bytes,
              MemoryBudget& budget, AllocationGate& gate, MemoryFile* file = nullptr);
  ~SegmentPool();
  SegmentPool(const SegmentPool&) = delete;
  SegmentPool& operator=(const SegmentPool&) = delete;

  char* base() const noexcept { return base_; }
  char* Address(std::uint32_t id) const noexcept { return base_ + (std::size_t{id} << shift_); }
  std::size_t segment_bytes() const noexcept { return std::size_t{1} << shift_; }
  unsigned shift() const noexcept { return shift_; }
  // Ids are below this.
  std::uint32_t id_limit() const noexcept { return id_limit_; }
  // Ids from here on were never used.
  std::uint32_t used_id_limit() const noexcept {
    return next_unused_.load(std::memory_order_relaxed);
  }
  std::uint64_t max_bytes() const noexcept { return std::uint64_t{id_limit_ - 1} << shift_; }

  // How many segments can still be taken within the budget; negative when it is exceeded.
  std::int64_t Available() const noexcept;
  std::uint32_t free_segments() const noexcept {
    return free_count_.load(std::memory_order_relaxed);
  }

  // Takes a segment if more than `keep` are available. kNoSegment if not.
  std::uint32_t Take(std::int64_t keep) noexcept;
  // Takes an already committed one, if more than `keep` are free, whatever the budget says: no
  // memory is added by that.
  std::uint32_t TakeCommitted(std::int64_t keep) noexcept;
  void Give(std::uint32_t id) noexcept;
  // Returns the pages of one free segment to the kernel; false when there is none.
  bool DecommitOne() noexcept;

  // Before anything else: the file's segments below `used_id_limit` are as somebody left them.
  // Those in `taken` are the caller's, whatever the budget says; the others hold nothing. False if
  // the system refuses.
  bool Adopt(std::uint32_t used_id_limit, std::span<const std::uint32_t> taken) noexcept;
  // The system had no memory when it was last asked, and nothing was given back since: only what is
  // committed counts as available. Asks again at the next chance.
  bool refused() const noexcept { return refused_.load(std::memory_order_relaxed); }
  void ForgetRefusal() noexcept { refused_.store(false, std::memory_order_relaxed); }

 private:
  std::uint32_t PopLocked(std::uint32_t& head) noexcept REQUIRES(mutex_);
  void PushLocked(std::uint32_t& head, std::uint32_t id) noexcept REQUIRES(mutex_);
  std::uint32_t CommitLocked() noexcept REQUIRES(mutex_);
  bool Commit(std::uint32_t id, bool first_use) noexcept;
  void Decommit(std::uint32_t id) noexcept;
  std::uint64_t OffsetOf(std::uint32_t id) const noexcept { return std::uint64_t{id} << shift_; }

  MemoryBudget& budget_;
  AllocationGate& gate_;
  MemoryFile* const file_;
  unsigned shift_;
  std::uint32_t id_limit_ = 0;
  std::size_t range_bytes_ = 0;
  char* base_ = nullptr;
  std::atomic<std::uint32_t> free_count_{0};
  std::atomic<std::uint32_t> next_unused_{1};
  std::atomic<bool> refused_{false};
  Mutex mutex_;
  std::uint32_t* links_ = nullptr;  // Of the two lists below; the array is guarded by the mutex.
  std::uint32_t free_head_ GUARDED_BY(mutex_) = kNoSegment;         // Committed.
  std::uint32_t decommitted_head_ GUARDED_BY(mutex_) = kNoSegment;  // Usable, but without pages.
};

}  // namespace podcache::memory
