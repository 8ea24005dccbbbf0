// What the kernel tells about this process: the usual process metrics of both programs.
//
// Threads: any; each call reads /proc/self anew. A file that cannot be read leaves its values at 0.
// Source: proc(5), getrusage(2).
#pragma once

#include <cstdint>

namespace podcache {

struct ProcessStats {
  double user_cpu_seconds = 0;
  double system_cpu_seconds = 0;
  std::uint64_t resident_memory_bytes = 0;
  std::uint64_t virtual_memory_bytes = 0;
  std::uint64_t open_fds = 0;
  std::uint64_t max_fds = 0;      // The soft limit.
  double start_time_seconds = 0;  // Unix time.
};

ProcessStats ReadProcessStats();

// That one figure alone: cheap enough to be polled.
std::uint64_t ReadResidentMemoryBytes();

// The part of it that lies in tmpfs files or is shared with other processes.
std::uint64_t ReadResidentSharedMemoryBytes();

}  // namespace podcache
