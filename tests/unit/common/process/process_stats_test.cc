#include "common/process/process_stats.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <string>
#include <vector>

namespace podcache {
namespace {

TEST(ProcessStatsTest, CountsDescriptors) {
  const std::uint64_t before = ReadProcessStats().open_fds;
  std::vector<int> opened;
  for (int i = 0; i < 5; ++i) opened.push_back(open("/dev/null", O_RDONLY));
  EXPECT_EQ(ReadProcessStats().open_fds, before + 5);
  for (const int fd : opened) close(fd);
  EXPECT_EQ(ReadProcessStats().open_fds, before);
  EXPECT_EQ(ReadProcessStats().max_fds, static_cast<std::uint64_t>(sysconf(_SC_OPEN_MAX)));
}

TEST(ProcessStatsTest, MemoryAgreesWithTheKernelsOtherAccount) {
  std::uint64_t resident_kib = 0;
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with("VmRSS:")) resident_kib = std::stoull(line.substr(6));
  }
  const ProcessStats stats = ReadProcessStats();
  // The two files are not read at the same instant.
  EXPECT_NEAR(static_cast<double>(stats.resident_memory_bytes),
              static_cast<double>(resident_kib) * 1024, 4 << 20);
  EXPECT_GE(stats.virtual_memory_bytes, stats.resident_memory_bytes);
}

TEST(ProcessStatsTest, StartedBeforeNowAndWithinThisTestRun) {
  const double now = static_cast<double>(std::time(nullptr));
  const ProcessStats stats = ReadProcessStats();
  EXPECT_LE(stats.start_time_seconds, now + 2);  // Boot time is in whole seconds.
  EXPECT_GE(stats.start_time_seconds, now - 3600);
  EXPECT_GT(stats.user_cpu_seconds + stats.system_cpu_seconds, 0);
}

}  // namespace
}  // namespace podcache
