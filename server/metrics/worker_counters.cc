#include "server/metrics/worker_counters.h"

namespace podcache::metrics {

WorkerCounters& CounterRegistry::Acquire() {
  MutexLock lock(mutex_);
  if (!free_.empty()) {
    WorkerCounters* block = free_.front();
    free_.pop_front();
    return *block;
  }
  return blocks_.emplace_back();
}

void CounterRegistry::Release(WorkerCounters& block) {
  MutexLock lock(mutex_);
  free_.push_back(&block);
}

std::uint64_t CounterRegistry::Sum(Counter counter) const {
  std::uint64_t sum = 0;
  ForEach([&](const WorkerCounters& block) { sum += block.Read(counter); });
  return sum;
}

void CounterRegistry::MarkReset() {
  MutexLock lock(mutex_);
  for (std::size_t i = 0; i < WorkerCounters::kCells; ++i) {
    std::uint64_t sum = 0;
    for (const WorkerCounters& block : blocks_) {
      sum += block.cells[i].load(std::memory_order_relaxed);
    }
    reset_base_[i] = sum;
  }
}

std::uint64_t CounterRegistry::SumSinceReset(Counter counter) const {
  MutexLock lock(mutex_);
  std::uint64_t sum = 0;
  for (const WorkerCounters& block : blocks_) sum += block.Read(counter);
  return sum - reset_base_[WorkerCounters::Index(counter)];
}

}  // namespace podcache::metrics
