#include "server/start_sizes.h"

#include <unistd.h>

#include <algorithm>

#include "common/base/version.h"

namespace podcache::server {

namespace {

// A thread with less memory than this to itself would spend it on its own buffers and open
// segments.
constexpr std::uint64_t kMemoryPerThread = 4ULL << 20;

std::string Bytes(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

// The rule in use, and where it comes from.
sizing::Rule ChooseRule(const PodConfig* pod, const Surroundings& place, StartSizes& sizes) {
  if (pod == nullptr) {
    sizes.sizing.source = SizingSource::kCgroup;
    return sizing::Rule{"", {}, kCgroupThreads, kCgroupRule};
  }
  if (pod->rules.empty()) {
    sizing::Rule rule = sizing::BuiltInDefaultRule();
    sizes.sizing.source = SizingSource::kRule;
    sizes.sizing.rule_name = rule.name;
    return rule;
  }
  if (const sizing::Rule* const rule = sizing::ChooseRule(pod->rules, place.host);
      rule != nullptr) {
    sizes.sizing.source = SizingSource::kRule;
    sizes.sizing.rule_name = rule->name;
    return *rule;
  }
  sizes.sizing.source = SizingSource::kNoMatch;
  sizes.notes.push_back("no sizing rule matches " + place.host.arch + " with pages of " +
                        Bytes(place.host.page_size_bytes) + "; the built-in rule is used");
  return sizing::BuiltInDefaultRule();
}

bool UseExplicitMemory(std::uint64_t bytes, const Surroundings& place, StartSizes& sizes,
                       std::string& error) {
  sizes.sizing = SizingChoice{SizingSource::kExplicit, "", kExplicitReserve};
  sizes.memory_target_bytes = bytes;
  sizes.memory_limit_bytes = bytes;
  if (!place.cgroup_memory_bytes ||
      sizing::InvariantHolds(kExplicitReserve, bytes, *place.cgroup_memory_bytes)) {
    return true;
  }
  error = "-m: a memory of " + Bytes(bytes) + " does not fit the cgroup memory limit of " +
          Bytes(*place.cgroup_memory_bytes) + " (it needs a limit of " +
          Bytes(sizing::RequiredCgroupLimitBytes(kExplicitReserve, bytes)) + ")";
  return false;
}

std::uint64_t WantedMemory(const PodConfig* pod, const Surroundings& place,
                           std::optional<std::uint64_t> largest, StartSizes& sizes) {
  if (pod == nullptr) return largest.value_or(kDefaultMemoryBytes);
  if (pod->memory_bytes) return *pod->memory_bytes;
  if (place.cgroup_memory_bytes) {
    return *place.cgroup_memory_bytes / 100 * pod->memory_percent_of_limit.value_or(100);
  }
  sizes.notes.emplace_back("memory is a percentage of the cgroup limit, but there is no limit");
  return kDefaultMemoryBytes;
}

void UseRuleMemory(const PodConfig* pod, const Surroundings& place, std::uint64_t smallest,
                   StartSizes& sizes) {
  std::optional<std::uint64_t> largest;
  if (place.cgroup_memory_bytes) {
    largest = sizing::LargestCacheBytes(sizes.sizing.memory, *place.cgroup_memory_bytes);
  }
  const std::uint64_t wanted = WantedMemory(pod, place, largest, sizes);
  sizes.memory_target_bytes = std::max(wanted, smallest);
  sizes.memory_limit_bytes = std::max(largest ? std::min(wanted, *largest) : wanted, smallest);
  if (!largest || sizes.memory_limit_bytes == sizes.memory_target_bytes) {
    if (largest && *largest < smallest) {
      sizes.notes.push_back("the cgroup memory limit of " + Bytes(*place.cgroup_memory_bytes) +
                            " is too small for a cache; the smallest one is used");
    }
    return;
  }
  sizes.notes.push_back(
      "memory of " + Bytes(sizes.memory_target_bytes) + " needs a cgroup limit of " +
      Bytes(sizing::RequiredCgroupLimitBytes(sizes.sizing.memory, wanted)) + ", but it is " +
      Bytes(*place.cgroup_memory_bytes) + "; starting with " + Bytes(sizes.memory_limit_bytes));
}

std::uint32_t ChooseThreads(const Options& options, const PodConfig* pod,
                            const sizing::ThreadRule& rule, const Surroundings& place,
                            StartSizes& sizes) {
  if (options.threads) return *options.threads;
  if (pod != nullptr && pod->threads) return *pod->threads;
  const std::uint64_t basis = sizing::CpuBasisMilli(place.cgroup_cpu_milli, place.usable_cpus);
  const std::uint32_t by_cpu = sizing::ThreadCount(rule, basis);
  const std::uint64_t by_memory =
      std::max<std::uint64_t>(sizes.memory_limit_bytes / kMemoryPerThread, 1);
  if (by_memory >= by_cpu) return by_cpu;
  sizes.notes.push_back("memory is enough for " + std::to_string(by_memory) +
                        " threads instead of " + std::to_string(by_cpu));
  return static_cast<std::uint32_t>(by_memory);
}

}  // namespace

bool ChooseStartSizes(const Options& options, const PodConfig* pod, const Surroundings& place,
                      std::uint64_t smallest_memory_bytes, StartSizes& sizes, std::string& error) {
  sizes = StartSizes{};
  const sizing::Rule rule = ChooseRule(pod, place, sizes);
  sizes.sizing.memory = rule.memory;
  if (options.memory_bytes) {
    const std::uint64_t bytes = std::max(*options.memory_bytes, smallest_memory_bytes);
    if (!UseExplicitMemory(bytes, place, sizes, error)) return false;
  } else {
    UseRuleMemory(pod, place, smallest_memory_bytes, sizes);
  }
  sizes.threads = ChooseThreads(options, pod, rule.threads, place, sizes);

  sizes.max_item_size_bytes = options.settings.item_size_max;
  if (!options.max_item_size_given && pod != nullptr && pod->max_item_size_bytes) {
    sizes.max_item_size_bytes = *pod->max_item_size_bytes;
  }
  const std::uint64_t half = sizes.memory_limit_bytes / 2;
  if (options.max_item_size_given && sizes.max_item_size_bytes > half) {
    error = "-I: an item of " + Bytes(sizes.max_item_size_bytes) +
            " is more than half of the memory of " + Bytes(sizes.memory_limit_bytes);
    return false;
  }
  sizes.max_item_size_bytes = std::min(sizes.max_item_size_bytes, half);

  sizes.max_connections = static_cast<std::uint32_t>(options.settings.maxconns);
  if (!options.max_connections_given && pod != nullptr && pod->max_connections) {
    sizes.max_connections = *pod->max_connections;
  }
  return true;
}

Surroundings LookAround(const cgroup::Reader& cgroup) {
  Surroundings place;
  place.cgroup_memory_bytes = cgroup.MemoryLimitBytes();
  place.cgroup_cpu_milli = cgroup.CpuLimitMilli();
  place.usable_cpus = cgroup::UsableCpus();
  place.host.arch = std::string(Architecture());
  place.host.page_size_bytes = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return place;
}

}  // namespace podcache::server
