#include "server/metrics/collector/family_list.h"

#include <limits>

#include "common/base/check.h"

namespace podcache::metrics {

namespace {

prometheus::ClientMetric WithLabels(const Labels& labels) {
  prometheus::ClientMetric metric;
  metric.label.reserve(labels.size());
  for (const auto& [name, value] : labels) metric.label.push_back({name, value});
  return metric;
}

}  // namespace

void FamilyList::Begin(prometheus::MetricType type, const char* name, const char* help) {
  prometheus::MetricFamily& family = families_.emplace_back();
  family.name = prefix_ + name;
  family.help = help;
  family.type = type;
}

void FamilyList::Series(const Labels& labels, double value) {
  prometheus::MetricFamily& family = families_.back();
  prometheus::ClientMetric metric = WithLabels(labels);
  if (family.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  family.metric.push_back(std::move(metric));
}

void FamilyList::Series(const Labels& labels, const HistogramData& data) {
  PODCACHE_CHECK(data.buckets.empty() || data.buckets.size() == data.bounds.size() + 1);
  prometheus::ClientMetric metric = WithLabels(labels);
  std::uint64_t cumulative = 0;
  for (std::size_t i = 0; i <= data.bounds.size(); ++i) {
    cumulative += data.buckets.empty() ? 0 : data.buckets[i];
    const double bound =
        i < data.bounds.size() ? data.bounds[i] : std::numeric_limits<double>::infinity();
    metric.histogram.bucket.push_back({cumulative, bound});
  }
  metric.histogram.sample_count = cumulative;
  metric.histogram.sample_sum = data.sum;
  families_.back().metric.push_back(std::move(metric));
}

}  // namespace podcache::metrics
