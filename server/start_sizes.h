// How much memory and how many threads a server starts with: what was given explicitly, else the
// pod's configuration under the sizing rule that fits this place, else what the cgroup allows.
//
// Pure: everything it knows of the place comes in as values.
//
// Explicit values win and are never bent: a memory that cannot fit the cgroup is refused. What is
// chosen here always fits (limit × (1 + overhead_percent / 100) + overhead_fixed_bytes ≤ cgroup
// limit), except where the cgroup is too small for any cache: then the smallest possible one
// serves.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/options.h"
#include "server/pod_config.h"
#include "server/runtime_config.h"

namespace podcache::server {

// What an explicit -m must leave free in the cgroup: the program itself, threads, and the slack of
// what counts pages.
inline constexpr sizing::MemoryRule kExplicitReserve{5, 24ULL << 20};
// Without a table of rules.
inline constexpr sizing::MemoryRule kCgroupRule{25, 32ULL << 20};
inline constexpr sizing::ThreadRule kCgroupThreads{100, 1, 16};
// Without any limit.
inline constexpr std::uint64_t kDefaultMemoryBytes = 64ULL << 20;

// What is known of the place.
struct Surroundings {
  std::optional<std::uint64_t> cgroup_memory_bytes;
  std::optional<std::uint64_t> cgroup_cpu_milli;
  std::uint32_t usable_cpus = 1;
  sizing::Host host;
};

struct StartSizes {
  SizingChoice sizing;
  std::uint64_t memory_target_bytes = 0;  // Asked for.
  std::uint64_t memory_limit_bytes = 0;   // What the cgroup holds of it.
  std::uint32_t threads = 1;
  std::uint64_t max_item_size_bytes = 0;
  std::uint32_t max_connections = 0;
  // What somebody should know who reads the log.
  std::vector<std::string> notes;
};

// `pod` may be null. `smallest_memory_bytes` is the least a cache can work with.
bool ChooseStartSizes(const Options& options, const PodConfig* pod, const Surroundings& place,
                      std::uint64_t smallest_memory_bytes, StartSizes& sizes, std::string& error);

// What this process sees.
Surroundings LookAround(const cgroup::Reader& cgroup);

}  // namespace podcache::server
