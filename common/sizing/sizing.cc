#include "common/sizing/sizing.h"

#include <algorithm>
#include <limits>

namespace podcache::sizing {

namespace {

__extension__ using Wide = unsigned __int128;

bool Matches(const RuleMatch& match, const Host& host) {
  if (!match.arch.empty() &&
      std::find(match.arch.begin(), match.arch.end(), host.arch) == match.arch.end()) {
    return false;
  }
  if (match.page_size_bytes != 0 && match.page_size_bytes != host.page_size_bytes) return false;
  if (match.node_selector.empty()) return true;
  if (!host.node_labels_known) return false;
  return std::all_of(match.node_selector.begin(), match.node_selector.end(),
                     [&](const auto& wanted) {
                       return std::find(host.node_labels.begin(), host.node_labels.end(), wanted) !=
                              host.node_labels.end();
                     });
}

}  // namespace

Rule BuiltInDefaultRule() {
  Rule rule;
  rule.name = "built-in";
  return rule;
}

const Rule* ChooseRule(const std::vector<Rule>& rules, const Host& host) {
  const auto found = std::find_if(rules.begin(), rules.end(),
                                  [&](const Rule& rule) { return Matches(rule.match, host); });
  return found == rules.end() ? nullptr : &*found;
}

std::uint64_t CpuBasisMilli(std::optional<std::uint64_t> cpu_limit_milli,
                            std::uint32_t usable_cpus) {
  if (cpu_limit_milli) return *cpu_limit_milli;
  return std::uint64_t{std::clamp(usable_cpus, 1U, 4U)} * 1000;
}

std::uint32_t ThreadCount(const ThreadRule& rule, std::uint64_t cpu_basis_milli) {
  const Wide hundred_thousandths = Wide{cpu_basis_milli} * rule.per_cpu_percent;
  const Wide rounded = (hundred_thousandths + 50'000) / 100'000;
  const auto capped = static_cast<std::uint32_t>(std::min<Wide>(rounded, rule.max));
  return std::max(capped, rule.min);
}

std::uint64_t RequiredCgroupLimitBytes(const MemoryRule& rule, std::uint64_t cache_bytes) {
  const Wide scaled = (Wide{cache_bytes} * (100 + rule.overhead_percent) + 99) / 100;
  const Wide total = scaled + rule.overhead_fixed_bytes;
  constexpr Wide kMax = std::numeric_limits<std::uint64_t>::max();
  return static_cast<std::uint64_t>(std::min(total, kMax));
}

std::uint64_t LargestCacheBytes(const MemoryRule& rule, std::uint64_t cgroup_limit_bytes) {
  if (cgroup_limit_bytes <= rule.overhead_fixed_bytes) return 0;
  const Wide room = cgroup_limit_bytes - rule.overhead_fixed_bytes;
  return static_cast<std::uint64_t>(room * 100 / (100 + rule.overhead_percent));
}

bool InvariantHolds(const MemoryRule& rule, std::uint64_t cache_bytes,
                    std::uint64_t cgroup_limit_bytes) {
  return RequiredCgroupLimitBytes(rule, cache_bytes) <= cgroup_limit_bytes;
}

}  // namespace podcache::sizing
