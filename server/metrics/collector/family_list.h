// Builds prometheus-cpp's metric families with one line a metric, so that name, type and help stand
// together.
//
// Threads: one. Included by .cc files and tests only.
#pragma once

#include <prometheus/metric_family.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "server/metrics/collector/snapshot.h"

namespace podcache::metrics {

using Labels = std::vector<std::pair<std::string, std::string>>;

class FamilyList {
 public:
  // A family to which Series adds until the next family begins. `prefix` goes before every name.
  explicit FamilyList(std::string prefix) : prefix_(std::move(prefix)) {}

  void Begin(prometheus::MetricType type, const char* name, const char* help);
  void Series(const Labels& labels, double value);
  void Series(const Labels& labels, std::uint64_t value) {
    Series(labels, static_cast<double>(value));
  }
  void Series(const Labels& labels, const HistogramData& data);

  // A family with one series.
  template <class Number>
  void Gauge(const char* name, const char* help, Number value) {
    Begin(prometheus::MetricType::Gauge, name, help);
    Series({}, static_cast<double>(value));
  }
  template <class Number>
  void Counter(const char* name, const char* help, Number value) {
    Begin(prometheus::MetricType::Counter, name, help);
    Series({}, static_cast<double>(value));
  }

  std::vector<prometheus::MetricFamily> Take() { return std::move(families_); }

 private:
  std::string prefix_;
  std::vector<prometheus::MetricFamily> families_;
};

}  // namespace podcache::metrics
