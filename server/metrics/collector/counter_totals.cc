#include "server/metrics/collector/counter_totals.h"

namespace podcache::metrics {

CounterTotals CounterTotals::Read(const CounterRegistry& registry) {
  CounterTotals totals;
  registry.ForEach([&](const WorkerCounters& block) {
    for (std::size_t i = 0; i < totals.cells.size(); ++i) {
      totals.cells[i] += block.cells[i].load(std::memory_order_relaxed);
    }
    for (std::size_t row = 0; row < WorkerCounters::kClasses; ++row) {
      for (std::size_t i = 0; i < totals.duration_buckets[row].size(); ++i) {
        totals.duration_buckets[row][i] +=
            block.duration_buckets[row][i].load(std::memory_order_relaxed);
      }
      totals.duration_sum_ns[row] += block.duration_sum_ns[row].load(std::memory_order_relaxed);
    }
  });
  return totals;
}

}  // namespace podcache::metrics
