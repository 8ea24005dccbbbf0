// What the kernel's control groups allow this process: memory, CPU time, and the CPUs it may run
// on.
//
// Knows cgroup v2, v1 and the hybrid of both (each controller is looked for where it really is). A
// limit set on an ancestor counts too: the smallest on the way up to the mount is in force, and on
// v1 the kernel's own `hierarchical_memory_limit` brings in ancestors a container cannot see.
//
// Threads: a Reader may be used from any thread; each call reads the files anew, so that a change
// made by somebody else (a resized pod, a process moved to another group) is seen by the next call.
// A file that is missing or unreadable means "no limit known", never an error.
//
// Sources: the kernel's admin-guide/cgroup-v2 and admin-guide/cgroup-v1/memory,
// scheduler/sched-bwc, proc(5).
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace podcache::cgroup {

// 0: the controller is nowhere.
enum class Version : std::uint8_t { kNone = 0, kV1 = 1, kV2 = 2 };

class Reader {
 public:
  // `file_system_root` stands before /proc and /sys: empty in programs, a fixture in tests.
  explicit Reader(std::string file_system_root = "");

  Version memory_version() const;
  Version cpu_version() const;

  std::optional<std::uint64_t> MemoryLimitBytes() const;
  // Of the process's own group, page cache included.
  std::optional<std::uint64_t> MemoryUsageBytes() const;
  // CPU quota in thousandths of a core, rounded down, at least 1.
  std::optional<std::uint64_t> CpuLimitMilli() const;
  // Time the group was held back by its quota since it was made.
  std::optional<std::chrono::nanoseconds> CpuThrottledTime() const;

 private:
  struct Mount {
    Version version = Version::kNone;
    std::string controllers;  // v1: comma-separated.
    std::string root;         // The group that is mounted.
    std::string point;        // Where, below file_system_root_.
  };
  // The folder of the process's group for a controller, and the mount it lies under.
  struct Location {
    Version version = Version::kNone;
    std::string top;       // The mount point.
    std::string relative;  // Below it; empty: the mount point itself, else "/a/b".
  };

  Location Locate(const std::string& controller) const;
  Location LocateIn(const Mount& mount, const std::string& group_path) const;

  std::string file_system_root_;
  std::vector<Mount> mounts_;
};

// CPUs the calling thread may run on (its affinity mask), at least 1. Not the host's number of
// cores.
std::uint32_t UsableCpus() noexcept;

}  // namespace podcache::cgroup
