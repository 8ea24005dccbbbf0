#include "operator/resources/sizing_rules.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <string_view>

namespace podcache::control {

namespace {

constexpr std::string_view kArchLabel = "kubernetes.io/arch";
// The server image exists for these.
constexpr std::string_view kArchitectures[] = {"amd64", "arm64"};

bool Contains(const std::vector<std::string>& list, std::string_view wanted) {
  return std::find(list.begin(), list.end(), wanted) != list.end();
}

// False if the pod's nodeSelector asks for another value of a label that the rule wants.
bool LabelsCanMatch(const sizing::RuleMatch& match,
                    const std::map<std::string, std::string>& selector) {
  return std::all_of(match.node_selector.begin(), match.node_selector.end(),
                     [&](const auto& label) {
                       const auto asked = selector.find(label.first);
                       return asked == selector.end() || asked->second == label.second;
                     });
}

// Page size and labels of the node are not known beforehand; the server never knows the labels.
bool MatchesWhereverItRuns(const sizing::RuleMatch& match) {
  return match.page_size_bytes == 0 && match.node_selector.empty();
}

bool Covers(const SizingMatch& earlier, const SizingMatch& later) {
  const bool arch = earlier.arch.empty() ||
                    (!later.arch.empty() && std::all_of(later.arch.begin(), later.arch.end(),
                                                        [&](const std::string& name) {
                                                          return Contains(earlier.arch, name);
                                                        }));
  const bool page_size =
      !earlier.page_size_bytes || earlier.page_size_bytes == later.page_size_bytes;
  const bool labels = std::all_of(
      earlier.node_selector.begin(), earlier.node_selector.end(), [&](const auto& label) {
        const auto found = later.node_selector.find(label.first);
        return found != later.node_selector.end() && found->second == label.second;
      });
  return arch && page_size && labels;
}

}  // namespace

std::vector<sizing::Rule> ToSizingRules(const std::vector<SizingRule>& rules) {
  std::vector<sizing::Rule> result;
  result.reserve(rules.size());
  for (const SizingRule& rule : rules) {
    sizing::Rule& to = result.emplace_back();
    to.name = rule.name;
    to.match.arch = rule.match.arch;
    to.match.page_size_bytes = rule.match.page_size_bytes.value_or(0);
    to.match.node_selector.assign(rule.match.node_selector.begin(), rule.match.node_selector.end());
    to.threads.per_cpu_percent = static_cast<std::uint32_t>(rule.threads.per_cpu_percent);
    to.threads.min = static_cast<std::uint32_t>(rule.threads.min);
    to.threads.max = static_cast<std::uint32_t>(rule.threads.max);
    to.memory.overhead_percent = static_cast<std::uint32_t>(rule.memory.overhead_percent);
    to.memory.overhead_fixed_bytes = rule.memory.overhead_fixed_bytes;
  }
  return result;
}

std::vector<sizing::Rule> RulesOf(const CacheSidecarSpec& spec, const CacheProfile* profile) {
  if (spec.sizing) return ToSizingRules(spec.sizing->rules);
  return profile == nullptr ? std::vector<sizing::Rule>() : ToSizingRules(profile->spec.rules);
}

std::vector<sizing::Rule> PossibleRules(
    const std::vector<sizing::Rule>& rules,
    const std::map<std::string, std::string>& pod_node_selector) {
  std::vector<std::string> architectures(std::begin(kArchitectures), std::end(kArchitectures));
  if (const auto asked = pod_node_selector.find(std::string(kArchLabel));
      asked != pod_node_selector.end()) {
    architectures = {asked->second};
  }
  std::set<std::size_t> possible;
  bool none_may_match = false;
  for (const std::string& arch : architectures) {
    bool decided = false;
    for (std::size_t i = 0; i < rules.size() && !decided; ++i) {
      const sizing::RuleMatch& match = rules[i].match;
      if (!match.arch.empty() && !Contains(match.arch, arch)) continue;
      if (!LabelsCanMatch(match, pod_node_selector)) continue;
      possible.insert(i);
      decided = MatchesWhereverItRuns(match);
    }
    none_may_match = none_may_match || !decided;
  }
  std::vector<sizing::Rule> result;
  for (const std::size_t index : possible) result.push_back(rules[index]);
  if (none_may_match) result.push_back(sizing::BuiltInDefaultRule());
  return result;
}

std::vector<std::string> UnreachableRules(const std::vector<SizingRule>& rules) {
  std::vector<std::string> names;
  for (auto later = rules.begin(); later != rules.end(); ++later) {
    const bool covered = std::any_of(rules.begin(), later, [&](const SizingRule& earlier) {
      return Covers(earlier.match, later->match);
    });
    if (covered) names.push_back(later->name);
  }
  return names;
}

}  // namespace podcache::control
