#include "server/metrics/collector/metrics_collector.h"

#include <prometheus/metric_family.h>
#include <prometheus/text_serializer.h>

#include <iterator>
#include <utility>

#include "server/metrics/collector/counter_totals.h"
#include "server/metrics/collector/memcached_families.h"
#include "server/metrics/collector/podcache_families.h"

namespace podcache::metrics {

MetricsCollector::MetricsCollector(const CounterRegistry& registry, SnapshotSource source)
    : registry_(registry), source_(std::move(source)) {}

std::uint64_t MetricsCollector::HighWater::Raise(std::uint64_t value) {
  std::uint64_t seen = highest_.load();
  while (value > seen && !highest_.compare_exchange_weak(seen, value)) {
  }
  return value > seen ? value : seen;
}

std::vector<prometheus::MetricFamily> MetricsCollector::Collect() const {
  const CounterTotals totals = CounterTotals::Read(registry_);
  const ServerSnapshot snapshot = source_();
  auto families = MemcachedFamilies(snapshot, totals, plain_sets_.Raise(PlainSets(totals)));
  StoreDifferences differences = StoreDifferences::Of(snapshot.store);
  differences.expired_when_read_items = expired_items_.Raise(differences.expired_when_read_items);
  auto ours = PodcacheFamilies(snapshot, totals, differences);
  families.insert(families.end(), std::make_move_iterator(ours.begin()),
                  std::make_move_iterator(ours.end()));
  return families;
}

std::string MetricsCollector::Render() const {
  return prometheus::TextSerializer().Serialize(Collect());
}

const char* MetricsCollector::ContentType() { return "text/plain; version=0.0.4; charset=utf-8"; }

}  // namespace podcache::metrics
