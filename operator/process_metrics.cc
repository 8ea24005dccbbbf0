#include "operator/process_metrics.h"

#include <sys/resource.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

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

double CpuSeconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

double ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t size_pages = 0;
  std::uint64_t resident_pages = 0;
  statm >> size_pages >> resident_pages;
  return static_cast<double>(resident_pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double OpenDescriptors() {
  std::error_code error;
  double count = 0;
  for (auto entry = std::filesystem::directory_iterator("/proc/self/fd", error);
       !error && entry != std::filesystem::directory_iterator(); entry.increment(error)) {
    ++count;
  }
  return count;
}

double MaxDescriptors() {
  rlimit limit{};
  getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<double>(limit.rlim_cur);
}

// Field 22 of /proc/self/stat, in ticks after boot; the name of the program may hold spaces.
double StartTimeSeconds() {
  std::ifstream file("/proc/self/stat");
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  std::istringstream rest(text.substr(text.rfind(')') + 1));
  std::string field;
  for (int i = 3; i <= 22; ++i) rest >> field;
  std::ifstream stat("/proc/stat");
  double boot = 0;
  for (std::string key; stat >> key;) {
    if (key == "btime") {
      stat >> boot;
      break;
    }
  }
  return boot + std::strtod(field.c_str(), nullptr) / static_cast<double>(sysconf(_SC_CLK_TCK));
}

}  // namespace

std::vector<prometheus::MetricFamily> CollectProcess() {
  using Type = prometheus::MetricType;
  return {
      Single("process_cpu_seconds_total", "CPU time used, user and system.", Type::Counter,
             CpuSeconds()),
      Single("process_resident_memory_bytes", "Resident memory.", Type::Gauge, ResidentBytes()),
      Single("process_open_fds", "File descriptors open now.", Type::Gauge, OpenDescriptors()),
      Single("process_max_fds", "File descriptors allowed.", Type::Gauge, MaxDescriptors()),
      Single("process_start_time_seconds", "Start of the process, Unix time.", Type::Gauge,
             StartTimeSeconds()),
  };
}

}  // namespace podcache::control
