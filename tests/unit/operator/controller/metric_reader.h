// Reads one series of a Collectable.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <map>
#include <optional>
#include <string>

namespace podcache::kube {

using MetricLabels = std::map<std::string, std::string>;

inline std::optional<prometheus::ClientMetric> FindMetric(const prometheus::Collectable& source,
                                                          const std::string& name,
                                                          const MetricLabels& labels) {
  for (const prometheus::MetricFamily& family : source.Collect()) {
    if (family.name != name) continue;
    for (const prometheus::ClientMetric& metric : family.metric) {
      MetricLabels found;
      for (const auto& label : metric.label) found[label.name] = label.value;
      if (found == labels) return metric;
    }
  }
  return std::nullopt;
}

// The value of a counter or gauge; a failure and -1 when the series does not exist.
inline double ReadMetric(const prometheus::Collectable& source, const std::string& name,
                         const MetricLabels& labels) {
  const auto metric = FindMetric(source, name, labels);
  if (!metric) {
    ADD_FAILURE() << "no such series: " << name;
    return -1;
  }
  return metric->counter.value + metric->gauge.value;
}

}  // namespace podcache::kube
