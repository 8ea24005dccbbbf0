#include "operator/resources/sidecar_sizing.h"

#include <algorithm>
#include <limits>

#include "common/base/check.h"

namespace podcache::control {

namespace {

constexpr std::uint64_t kMi = 1ULL << 20;
constexpr std::uint64_t kDefaultCpuRequestMilli = 50;

std::uint64_t RoundUpToMi(std::uint64_t bytes) {
  constexpr std::uint64_t kLargest = std::numeric_limits<std::uint64_t>::max() / kMi * kMi;
  return bytes > kLargest ? kLargest : (bytes + kMi - 1) / kMi * kMi;
}

std::uint64_t LargestNeed(const std::vector<sizing::Rule>& rules, std::uint64_t cache_bytes) {
  std::uint64_t need = 0;
  for (const sizing::Rule& rule : rules) {
    need = std::max(need, sizing::RequiredCgroupLimitBytes(rule.memory, cache_bytes));
  }
  return need;
}

std::uint64_t LargestSafeCache(const std::vector<sizing::Rule>& rules, std::uint64_t limit_bytes) {
  std::uint64_t cache = std::numeric_limits<std::uint64_t>::max();
  for (const sizing::Rule& rule : rules) {
    cache = std::min(cache, sizing::LargestCacheBytes(rule.memory, limit_bytes));
  }
  return cache;
}

std::uint64_t PercentOf(std::uint64_t bytes, std::int32_t percent) {
  // At most 64Ti × 95 fits 64 bits.
  return bytes * static_cast<std::uint64_t>(percent) / 100;
}

void SetCpu(const CpuResources& cpu, bool guaranteed, ContainerAmounts& amounts) {
  amounts.cpu_limit_milli = cpu.limit_milli.value_or(0);
  amounts.cpu_request_milli = cpu.request_milli.value_or(kDefaultCpuRequestMilli);
  if (amounts.cpu_limit_milli != 0) {
    amounts.cpu_request_milli = std::min(amounts.cpu_request_milli, amounts.cpu_limit_milli);
  }
  if (!guaranteed) return;
  if (amounts.cpu_limit_milli == 0) amounts.cpu_limit_milli = amounts.cpu_request_milli;
  amounts.cpu_request_milli = amounts.cpu_limit_milli;
}

}  // namespace

SidecarSizing SizeSidecar(const CacheSidecarSpec& spec, const std::vector<sizing::Rule>& rules,
                          bool guaranteed) {
  PODCACHE_CHECK(!rules.empty());
  const MemoryResources& memory = spec.resources.memory;
  SidecarSizing result;
  result.desired_cache_bytes = spec.memory.size_bytes.value_or(
      PercentOf(memory.limit_bytes.value_or(0), spec.memory.percent_of_limit.value_or(0)));
  result.needed_limit_bytes = RoundUpToMi(LargestNeed(rules, result.desired_cache_bytes));
  ContainerAmounts& amounts = result.amounts;
  amounts.memory_limit_bytes = memory.limit_bytes.value_or(result.needed_limit_bytes);
  amounts.memory_request_bytes =
      guaranteed ? amounts.memory_limit_bytes
                 : std::min(memory.request_bytes.value_or(amounts.memory_limit_bytes),
                            amounts.memory_limit_bytes);
  SetCpu(spec.resources.cpu, guaranteed, amounts);
  result.cache_bytes =
      std::min(result.desired_cache_bytes, LargestSafeCache(rules, amounts.memory_limit_bytes));
  return result;
}

std::uint32_t SidecarThreads(const CacheThreads& threads, const sizing::ThreadRule& rule,
                             std::optional<std::uint64_t> cpu_limit_milli,
                             std::uint32_t usable_cpus) {
  if (threads.mode == ThreadsMode::kFixed && threads.count) {
    return static_cast<std::uint32_t>(*threads.count);
  }
  return sizing::ThreadCount(rule, sizing::CpuBasisMilli(cpu_limit_milli, usable_cpus));
}

}  // namespace podcache::control
