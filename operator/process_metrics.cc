#include "operator/process_metrics.h"

#include "common/process/process_stats.h"

namespace podcache::control {

namespace {

prometheus::MetricFamily Single(const char* name, const char* help, prometheus::MetricType type,
                                double value) {
  prometheus::MetricFamily family;
  family.name = name;
  family.help = help;
  family.type = type;
  prometheus::ClientMetric metric;
  metric.counter.value = value;
  metric.gauge.value = value;
  family.metric.push_back(metric);
  return family;
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcess() {
  using Type = prometheus::MetricType;
  const ProcessStats process = ReadProcessStats();
  return {
      Single("process_cpu_seconds_total", "CPU time used, user and system.", Type::Counter,
             process.user_cpu_seconds + process.system_cpu_seconds),
      Single("process_resident_memory_bytes", "Resident memory.", Type::Gauge,
             static_cast<double>(process.resident_memory_bytes)),
      Single("process_open_fds", "File descriptors open now.", Type::Gauge,
             static_cast<double>(process.open_fds)),
      Single("process_max_fds", "File descriptors allowed.", Type::Gauge,
             static_cast<double>(process.max_fds)),
      Single("process_start_time_seconds", "Start of the process, Unix time.", Type::Gauge,
             process.start_time_seconds),
  };
}

}  // namespace podcache::control
