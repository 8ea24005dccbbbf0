// The live view: rates between two looks at the counters, next to memory, connections and threads.
//
// The first line is measured from the server's start, so that one look alone (--once) already says
// something.
//
// Threads: one. The waiting is the caller's: tests need none.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "common/status/status.h"
#include "operator/ctl/commands.h"

namespace podcache::control {

// Two samples of the same server, and what happened between them.
struct TopSample {
  double uptime_seconds = 0;
  std::uint64_t gets = 0;
  std::uint64_t hits = 0;
  std::uint64_t misses = 0;
  std::uint64_t sets = 0;
  std::uint64_t evictions = 0;
  std::uint64_t bytes_read = 0;
  std::uint64_t bytes_written = 0;
  std::uint64_t items = 0;
  std::uint64_t item_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint32_t connections = 0;
  std::uint32_t threads = 0;
};

struct TopRates {
  double gets = 0;  // Per second, as the next three.
  double sets = 0;
  double evictions = 0;
  double read_bytes = 0;
  double written_bytes = 0;
  double hit_ratio = -1;  // 0 to 1; negative: nothing was asked for.
};

// `seconds` between the two; counters that fell (the server restarted) count from zero.
TopRates RatesBetween(const TopSample& before, const TopSample& now, double seconds);

std::string TopHeader();
std::string TopLine(const TopSample& now, const TopRates& rates);
std::string TopJson(const TopSample& now, const TopRates& rates);

// Until an error, or after one line with --once. `sleep` waits for the interval and returns the
// seconds that really passed.
absl::Status RunTop(const CtlOptions& options, AdminConnection& server, const Terminal& terminal,
                    const std::function<double(std::chrono::milliseconds)>& sleep);

}  // namespace podcache::control
