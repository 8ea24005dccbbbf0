// What the kernel says about a process's and the machine's processor time.
#pragma once

#include <sys/types.h>

#include <cstdint>

namespace podcache::bench {

struct CpuTime {
  std::uint64_t user_us = 0;
  std::uint64_t system_us = 0;
};

// Of all threads of the process, also those that have ended (/proc/PID/stat, in steps of a clock
// tick). Throws Failure if there is no such process.
CpuTime ReadCpuTime(pid_t pid);

}  // namespace podcache::bench
