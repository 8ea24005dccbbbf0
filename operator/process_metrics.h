// The usual metrics of a process (process_…), read from /proc at each scrape.
//
// Threads: any. Source: Prometheus client conventions; proc(5).
#pragma once

#include <prometheus/metric_family.h>

#include <vector>

namespace podcache::control {

std::vector<prometheus::MetricFamily> CollectProcess();

}  // namespace podcache::control
