#include "common/cgroup/cgroup.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace podcache::cgroup {
namespace {

namespace fs = std::filesystem;
using std::chrono::nanoseconds;

// A root folder with the files a kernel would show.
class CgroupTest : public ::testing::Test {
 protected:
  CgroupTest() {
    char name[] = "/tmp/podcache-cgroup-XXXXXX";
    root_ = ::mkdtemp(name);
  }
  ~CgroupTest() override { fs::remove_all(root_); }

  void Write(const std::string& path, const std::string& content) {
    const fs::path full = root_ + path;
    fs::create_directories(full.parent_path());
    std::ofstream(full) << content;
  }
  void WriteV2(const std::string& group, const std::string& mount_root = "/") {
    Write("/proc/self/mountinfo",
          "22 1 0:20 / /proc rw - proc proc rw\n"
          "31 23 0:28 " +
              mount_root + " /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw,nsdelegate\n");
    Write("/proc/self/cgroup", "0::" + group + "\n");
  }
  // The mounts of a v1 machine; `mount_root` as a container without a cgroup namespace shows it.
  void WriteV1(const std::string& group, const std::string& mount_root = "/") {
    Write("/proc/self/mountinfo",
          "31 23 0:28 / /sys/fs/cgroup rw - tmpfs tmpfs rw,mode=755\n"
          "32 31 0:29 " +
              mount_root +
              " /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n"
              "33 31 0:30 " +
              mount_root + " /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n");
    Write("/proc/self/cgroup",
          "5:memory:" + group + "\n4:cpu,cpuacct:" + group + "\n1:name=systemd:/x\n");
  }

  std::string root_;
};

TEST_F(CgroupTest, V2ReadsTheGroupOfTheProcess) {
  WriteV2("/kubepods/pod1/c1");
  const std::string group = "/sys/fs/cgroup/kubepods/pod1/c1";
  Write(group + "/memory.max", "268435456\n");
  Write(group + "/memory.current", "1234567\n");
  Write(group + "/cpu.max", "150000 100000\n");
  Write(group + "/cpu.stat", "usage_usec 5\nnr_throttled 2\nthrottled_usec 2500\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.memory_version(), Version::kV2);
  EXPECT_EQ(reader.cpu_version(), Version::kV2);
  EXPECT_EQ(reader.MemoryLimitBytes(), 268435456U);
  EXPECT_EQ(reader.MemoryUsageBytes(), 1234567U);
  EXPECT_EQ(reader.CpuLimitMilli(), 1500U);
  EXPECT_EQ(reader.CpuThrottledTime(), nanoseconds(2'500'000));
}

TEST_F(CgroupTest, V2TakesTheSmallestOfAllAncestors) {
  WriteV2("/a/b/c");
  Write("/sys/fs/cgroup/a/memory.max", "1000\n");
  Write("/sys/fs/cgroup/a/b/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/b/c/memory.max", "2000\n");
  Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  Write("/sys/fs/cgroup/a/b/cpu.max", "50000 100000\n");
  Write("/sys/fs/cgroup/a/b/c/cpu.max", "400000 100000\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.MemoryLimitBytes(), 1000U);
  EXPECT_EQ(reader.CpuLimitMilli(), 500U);
}

TEST_F(CgroupTest, V2WithoutLimits) {
  WriteV2("/a");
  Write("/sys/fs/cgroup/a/memory.max", "max\n");
  Write("/sys/fs/cgroup/a/cpu.max", "max 100000\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.MemoryLimitBytes(), std::nullopt);
  EXPECT_EQ(reader.CpuLimitMilli(), std::nullopt);
  EXPECT_EQ(reader.MemoryUsageBytes(), std::nullopt);
  EXPECT_EQ(reader.CpuThrottledTime(), std::nullopt);
}

TEST_F(CgroupTest, V2InAContainerWithItsOwnNamespace) {
  // The mount shows the container's group as its root.
  WriteV2("/");
  Write("/sys/fs/cgroup/memory.max", "67108864\n");
  EXPECT_EQ(Reader(root_).MemoryLimitBytes(), 67108864U);
}

TEST_F(CgroupTest, V2OfAnotherNamespace) {
  WriteV2("/../other/group");
  Write("/sys/fs/cgroup/memory.max", "4096000\n");
  EXPECT_EQ(Reader(root_).MemoryLimitBytes(), 4096000U);
}

TEST_F(CgroupTest, V1ReadsTheGroupOfTheProcess) {
  WriteV1("/kubepods/pod1/c1");
  Write("/sys/fs/cgroup/memory/kubepods/pod1/c1/memory.limit_in_bytes", "134217728\n");
  Write("/sys/fs/cgroup/memory/kubepods/pod1/c1/memory.usage_in_bytes", "777\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_quota_us", "25000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.cfs_period_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/kubepods/pod1/c1/cpu.stat",
        "nr_periods 9\nthrottled_time 12345\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.memory_version(), Version::kV1);
  EXPECT_EQ(reader.MemoryLimitBytes(), 134217728U);
  EXPECT_EQ(reader.MemoryUsageBytes(), 777U);
  EXPECT_EQ(reader.CpuLimitMilli(), 250U);
  EXPECT_EQ(reader.CpuThrottledTime(), nanoseconds(12345));
}

TEST_F(CgroupTest, V1HugeValuesMeanNoLimit) {
  WriteV1("/a");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_quota_us", "-1\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/a/cpu.cfs_period_us", "100000\n");
  // With 4 KiB and with 64 KiB pages.
  for (const char* const none : {"9223372036854771712", "9223372036854710272"}) {
    Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", none);
    Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", none);
    EXPECT_EQ(Reader(root_).MemoryLimitBytes(), std::nullopt) << none;
  }
  EXPECT_EQ(Reader(root_).CpuLimitMilli(), std::nullopt);
}

TEST_F(CgroupTest, V1KnowsAncestorsTheContainerCannotSee) {
  // Without a cgroup namespace: /proc names the path from the host's root, the mount shows the
  // group itself.
  WriteV1("/kubepods/pod1/c1", "/kubepods/pod1/c1");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/memory.stat",
        "cache 0\nhierarchical_memory_limit 33554432\nhierarchical_memsw_limit 5\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_quota_us", "100000\n");
  Write("/sys/fs/cgroup/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(Reader(root_).MemoryLimitBytes(), 33554432U);
  EXPECT_EQ(Reader(root_).CpuLimitMilli(), 1000U);
}

TEST_F(CgroupTest, V1TakesTheSmallestOfAllAncestors) {
  WriteV1("/a/b");
  Write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
  Write("/sys/fs/cgroup/memory/a/memory.limit_in_bytes", "5000\n");
  Write("/sys/fs/cgroup/memory/a/b/memory.limit_in_bytes", "7000\n");
  EXPECT_EQ(Reader(root_).MemoryLimitBytes(), 5000U);
}

TEST_F(CgroupTest, HybridLooksForEachControllerWhereItIs) {
  // As on a machine with v1 controllers and an empty unified hierarchy.
  Write("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw,relatime - cgroup cgroup rw,cpu\n"
        "33 31 0:30 / /sys/fs/cgroup/cpuacct rw,relatime - cgroup cgroup rw,cpuacct\n"
        "35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "4:memory:/job\n2:cpuacct:/\n1:cpu:/\n0::/\n");
  Write("/sys/fs/cgroup/memory/job/memory.limit_in_bytes", "99000\n");
  Write("/sys/fs/cgroup/unified/memory.max", "1\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_quota_us", "300000\n");
  Write("/sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.memory_version(), Version::kV1);
  EXPECT_EQ(reader.MemoryLimitBytes(), 99000U);
  EXPECT_EQ(reader.CpuLimitMilli(), 3000U);
}

TEST_F(CgroupTest, HybridWithMemoryInTheUnifiedHierarchy) {
  Write("/proc/self/mountinfo",
        "32 31 0:29 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
        "41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "1:cpu:/\n0::/g\n");
  Write("/sys/fs/cgroup/unified/g/memory.max", "8192\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.memory_version(), Version::kV2);
  EXPECT_EQ(reader.cpu_version(), Version::kV1);
  EXPECT_EQ(reader.MemoryLimitBytes(), 8192U);
}

TEST_F(CgroupTest, SeesAChangeAndAMoveWithoutBeingMadeAnew) {
  WriteV2("/a");
  Write("/sys/fs/cgroup/a/memory.max", "1000\n");
  Write("/sys/fs/cgroup/b/memory.max", "5000\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.MemoryLimitBytes(), 1000U);
  Write("/sys/fs/cgroup/a/memory.max", "900\n");
  EXPECT_EQ(reader.MemoryLimitBytes(), 900U);
  Write("/proc/self/cgroup", "0::/b\n");
  EXPECT_EQ(reader.MemoryLimitBytes(), 5000U);
}

TEST_F(CgroupTest, NothingThereMeansNoLimit) {
  const Reader reader(root_);
  EXPECT_EQ(reader.memory_version(), Version::kNone);
  EXPECT_EQ(reader.MemoryLimitBytes(), std::nullopt);
  EXPECT_EQ(reader.MemoryUsageBytes(), std::nullopt);
  EXPECT_EQ(reader.CpuLimitMilli(), std::nullopt);
  EXPECT_EQ(reader.CpuThrottledTime(), std::nullopt);
}

TEST_F(CgroupTest, GarbageMeansNoLimit) {
  Write("/proc/self/mountinfo",
        "short\n\n31 23 0:28 / /sys/fs/cgroup\n1 2 3 / /x rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "nonsense\n::\n0::relative\n");
  Write("/x/memory.max", "twelve\n");
  Write("/x/cpu.max", "100 0\n");
  const Reader reader(root_);
  EXPECT_EQ(reader.MemoryLimitBytes(), std::nullopt);
  EXPECT_EQ(reader.CpuLimitMilli(), std::nullopt);
}

TEST_F(CgroupTest, MountPointWithEscapedSpace) {
  Write("/proc/self/mountinfo", "31 23 0:28 / /my\\040groups rw - cgroup2 cgroup2 rw\n");
  Write("/proc/self/cgroup", "0::/\n");
  Write("/my groups/memory.max", "4242\n");
  EXPECT_EQ(Reader(root_).MemoryLimitBytes(), 4242U);
}

TEST(UsableCpus, FollowsTheAffinityMask) {
  cpu_set_t old_set;
  ASSERT_EQ(::sched_getaffinity(0, sizeof(old_set), &old_set), 0);
  EXPECT_EQ(UsableCpus(), static_cast<std::uint32_t>(CPU_COUNT(&old_set)));
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &old_set)) {
      CPU_SET(cpu, &one);
      break;
    }
  }
  ASSERT_EQ(::sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(UsableCpus(), 1U);
  ASSERT_EQ(::sched_setaffinity(0, sizeof(old_set), &old_set), 0);
}

}  // namespace
}  // namespace podcache::cgroup
