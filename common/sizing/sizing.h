// The arithmetic of sizing a cache by architecture and node pool: which rule fits, how many
// threads, how much memory limit a cache size needs and how large a cache a memory limit can hold.
//
// Used on both sides: the server chooses at start from what it sees, the operator computes the
// pod's limits. Pure values, no clock, no I/O. Source of the rules and formulas: the CacheProfile
// API (docs/architecture.md, "Sizing").
//
// The invariant of a live resize, at every instant:
//   cache limit × (1 + overhead_percent / 100) + overhead_fixed_bytes ≤ cgroup limit
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace podcache::sizing {

struct MemoryRule {
  std::uint32_t overhead_percent = 25;  // 0–200
  std::uint64_t overhead_fixed_bytes = 128ULL << 20;
};

struct ThreadRule {
  std::uint32_t per_cpu_percent = 50;  // 1–400
  std::uint32_t min = 1;
  std::uint32_t max = 16;
};

struct RuleMatch {
  std::vector<std::string> arch;      // Kubernetes' names: amd64, arm64. Empty: any.
  std::uint64_t page_size_bytes = 0;  // 0: any.
  std::vector<std::pair<std::string, std::string>> node_selector;  // Empty: any.
};

struct Rule {
  std::string name;
  RuleMatch match;
  ThreadRule threads;
  MemoryRule memory;
};

// The safe default where nothing matches: 1 thread per 2 CPUs, 25 % + 128Mi.
Rule BuiltInDefaultRule();

// What is known of the place a server runs in. Empty or 0 means unknown.
struct Host {
  std::string arch;
  std::uint64_t page_size_bytes = 0;
  std::vector<std::pair<std::string, std::string>> node_labels;
  bool node_labels_known = false;
};

// The first rule that matches, nullptr if none does. A rule with a node_selector never matches
// while labels are unknown.
const Rule* ChooseRule(const std::vector<Rule>& rules, const Host& host);

// CPU basis in thousandths of a core: the CPU limit, without one the smaller of 4 and the usable
// CPUs.
std::uint64_t CpuBasisMilli(std::optional<std::uint64_t> cpu_limit_milli,
                            std::uint32_t usable_cpus);

// basis × per_cpu_percent / 100, rounded half up, clamped to min..max.
std::uint32_t ThreadCount(const ThreadRule& rule, std::uint64_t cpu_basis_milli);

// Smallest cgroup limit that keeps the invariant for this cache size (rounded up to a byte).
std::uint64_t RequiredCgroupLimitBytes(const MemoryRule& rule, std::uint64_t cache_bytes);

// Largest cache size that keeps the invariant under this cgroup limit; 0 if none does.
std::uint64_t LargestCacheBytes(const MemoryRule& rule, std::uint64_t cgroup_limit_bytes);

bool InvariantHolds(const MemoryRule& rule, std::uint64_t cache_bytes,
                    std::uint64_t cgroup_limit_bytes);

}  // namespace podcache::sizing
