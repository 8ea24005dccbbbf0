#include "common/process/process_stats.h"

#include <sys/resource.h>
#include <sys/time.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>

namespace podcache {

namespace {

double Seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string FirstLine(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

struct MemoryPages {
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
};

MemoryPages ReadMemoryPages() {
  std::ifstream statm("/proc/self/statm");
  MemoryPages pages;
  statm >> pages.size >> pages.resident;
  return pages;
}

std::uint64_t PageBytes() { return static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)); }

void ReadDescriptors(ProcessStats& stats) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) stats.max_fds = limit.rlim_cur;
  std::error_code error;
  std::filesystem::directory_iterator entries("/proc/self/fd", error);
  std::uint64_t count = 0;
  for (const std::filesystem::directory_iterator end; !error && entries != end;
       entries.increment(error)) {
    ++count;
  }
  stats.open_fds = count > 0 ? count - 1 : 0;  // Without the one that reads the folder.
}

// Start of the process in clock ticks after boot is the 22nd field of stat; the second one, the
// name in parentheses, may hold spaces.
std::uint64_t StartTicksAfterBoot() {
  const std::string line = FirstLine("/proc/self/stat");
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return 0;
  std::istringstream fields(line.substr(name_end + 1));
  std::string skipped;
  for (int i = 3; i < 22; ++i) fields >> skipped;
  std::uint64_t ticks = 0;
  fields >> ticks;
  return ticks;
}

double BootTimeSeconds() {
  std::ifstream file("/proc/stat");
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("btime ")) return std::stod(line.substr(6));
  }
  return 0;
}

}  // namespace

ProcessStats ReadProcessStats() {
  ProcessStats stats;
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) == 0) {
    stats.user_cpu_seconds = Seconds(usage.ru_utime);
    stats.system_cpu_seconds = Seconds(usage.ru_stime);
  }
  const MemoryPages pages = ReadMemoryPages();
  stats.virtual_memory_bytes = pages.size * PageBytes();
  stats.resident_memory_bytes = pages.resident * PageBytes();
  ReadDescriptors(stats);
  static const double start_time_seconds =
      BootTimeSeconds() +
      static_cast<double>(StartTicksAfterBoot()) / static_cast<double>(sysconf(_SC_CLK_TCK));
  stats.start_time_seconds = start_time_seconds;
  return stats;
}

std::uint64_t ReadResidentMemoryBytes() { return ReadMemoryPages().resident * PageBytes(); }

std::uint64_t ReadResidentSharedMemoryBytes() {
  std::ifstream file("/proc/self/status");
  constexpr std::string_view kName = "RssShmem:";
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with(kName)) return std::stoull(line.substr(kName.size())) * 1024;
  }
  return 0;
}

}  // namespace podcache
