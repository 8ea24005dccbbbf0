// Lets a test make one chosen allocation fail: every allocation of the set path asks here first.
//
// Threads: any. Off by default, and then one relaxed load on paths that allocate anyway.
#pragma once

#include <atomic>
#include <cstdint>

namespace podcache::memory {

class AllocationGate {
 public:
  // False: behave as if the system had no memory.
  bool Allow() noexcept {
    if (countdown_.load(std::memory_order_relaxed) < 0) return true;
    asked_.fetch_add(1, std::memory_order_relaxed);
    return countdown_.fetch_sub(1, std::memory_order_relaxed) != 0;
  }
  // The n-th allocation from now (0 = the next) fails, later ones succeed again.
  void FailAfter(std::int64_t n) noexcept {
    asked_.store(0, std::memory_order_relaxed);
    countdown_.store(n, std::memory_order_relaxed);
  }
  // Allocations asked for since FailAfter, up to and including the failed one.
  std::int64_t asked() const noexcept { return asked_.load(std::memory_order_relaxed); }
  void Disarm() noexcept { countdown_.store(-1, std::memory_order_relaxed); }

 private:
  std::atomic<std::int64_t> countdown_{-1};
  std::atomic<std::int64_t> asked_{0};
};

}  // namespace podcache::memory
