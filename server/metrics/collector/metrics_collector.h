// One scrape: reads the counters and the server's figures, makes the families, writes Prometheus
// text.
//
// Stops no worker and takes no store lock. Counters never fall, not even for a moment: where a
// value is a difference of counters read one after the other, the largest seen so far is shown.
//
// Threads: any. Ownership: registry and whatever the source refers to outlive this.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "server/metrics/collector/snapshot.h"
#include "server/metrics/worker_counters.h"

namespace prometheus {
struct MetricFamily;
}

namespace podcache::metrics {

class MetricsCollector {
 public:
  MetricsCollector(const CounterRegistry& registry, SnapshotSource source);

  std::vector<prometheus::MetricFamily> Collect() const;
  // Text exposition format 0.0.4.
  std::string Render() const;

  static const char* ContentType();

 private:
  class HighWater {
   public:
    std::uint64_t Raise(std::uint64_t value);

   private:
    std::atomic<std::uint64_t> highest_{0};
  };

  const CounterRegistry& registry_;
  const SnapshotSource source_;
  mutable HighWater plain_sets_;
  mutable HighWater expired_items_;
};

}  // namespace podcache::metrics
