// What counts against the one memory budget, and how much it may be.
//
// Threads: any. Everything is a relaxed atomic: the sums are for decisions that tolerate being a
// moment old. Units: bytes.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace podcache::memory {

class MemoryBudget {
 public:
  explicit MemoryBudget(std::uint64_t limit_bytes) noexcept
      : limit_(limit_bytes), target_(limit_bytes) {}

  // In force: never below what is still held while a shrink is under way.
  std::uint64_t limit_bytes() const noexcept { return limit_.load(std::memory_order_relaxed); }
  std::uint64_t target_bytes() const noexcept { return target_.load(std::memory_order_relaxed); }
  // What new memory is measured against.
  std::uint64_t ceiling_bytes() const noexcept { return std::min(limit_bytes(), target_bytes()); }
  void SetLimit(std::uint64_t bytes) noexcept { limit_.store(bytes, std::memory_order_relaxed); }
  void SetTarget(std::uint64_t bytes) noexcept { target_.store(bytes, std::memory_order_relaxed); }

  std::uint64_t segment_bytes() const noexcept { return segments_.load(std::memory_order_relaxed); }
  std::uint64_t index_bytes() const noexcept { return index_.load(std::memory_order_relaxed); }
  std::uint64_t external_bytes() const noexcept {
    return static_cast<std::uint64_t>(
        std::max<std::int64_t>(0, external_.load(std::memory_order_relaxed)));
  }
  // What the process needs besides (program, stacks), as far as it counts: of a small budget not
  // more than a 64th, or little would be left of it.
  std::uint64_t overhead_bytes() const noexcept {
    return std::min(overhead_.load(std::memory_order_relaxed), ceiling_bytes() / kOverheadDivisor);
  }
  std::uint64_t used_bytes() const noexcept {
    return segment_bytes() + index_bytes() + external_bytes() + overhead_bytes();
  }
  // Negative when over the ceiling.
  std::int64_t headroom_bytes() const noexcept {
    return static_cast<std::int64_t>(ceiling_bytes()) - static_cast<std::int64_t>(used_bytes());
  }

  void AddSegments(std::int64_t delta) noexcept { Add(segments_, delta); }
  void AddIndex(std::int64_t delta) noexcept { Add(index_, delta); }
  void SetOverhead(std::uint64_t bytes) noexcept {
    overhead_.store(bytes, std::memory_order_relaxed);
  }
  void AddExternal(std::int64_t delta) noexcept {
    external_.fetch_add(delta, std::memory_order_relaxed);
  }

 private:
  static constexpr std::uint64_t kOverheadDivisor = 64;
  static void Add(std::atomic<std::uint64_t>& counter, std::int64_t delta) noexcept {
    counter.fetch_add(static_cast<std::uint64_t>(delta), std::memory_order_relaxed);
  }

  std::atomic<std::uint64_t> limit_;
  std::atomic<std::uint64_t> target_;
  std::atomic<std::uint64_t> segments_{0};
  std::atomic<std::uint64_t> index_{0};
  std::atomic<std::int64_t> external_{0};
  std::atomic<std::uint64_t> overhead_{0};
};

}  // namespace podcache::memory
