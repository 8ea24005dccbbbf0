#include "operator/reconcile/born_rules.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/resources/names.h"

namespace podcache::control {

namespace {

using nlohmann::json;

sizing::Rule RuleFrom(const json& value) {
  sizing::Rule rule;
  rule.name = value.value("name", "");
  const json match = value.value("match", json::object());
  rule.match.arch = match.value("arch", std::vector<std::string>());
  rule.match.page_size_bytes = match.value("pageSizeBytes", std::uint64_t{0});
  const json selector = match.value("nodeSelector", json::object());
  for (const auto& [key, label] : selector.items()) {
    rule.match.node_selector.emplace_back(key, label.get<std::string>());
  }
  const json threads = value.value("threads", json::object());
  rule.threads.per_cpu_percent = threads.value("perCPUPercent", rule.threads.per_cpu_percent);
  rule.threads.min = threads.value("min", rule.threads.min);
  rule.threads.max = threads.value("max", rule.threads.max);
  const json memory = value.value("memory", json::object());
  rule.memory.overhead_percent = memory.value("overheadPercent", rule.memory.overhead_percent);
  rule.memory.overhead_fixed_bytes =
      memory.value("overheadFixedBytes", rule.memory.overhead_fixed_bytes);
  return rule;
}

std::vector<sizing::Rule> RulesFrom(const std::string& pod_config) {
  std::vector<sizing::Rule> rules;
  try {
    const json config = json::parse(pod_config);
    for (const json& rule : config.value("rules", json::array())) rules.push_back(RuleFrom(rule));
  } catch (const json::exception&) {
    return {};  // Somebody edited it; the server falls back in the same way.
  }
  return rules;
}

}  // namespace

std::vector<sizing::Rule> BornRules(const json& container) {
  const auto environment = container.find("env");
  if (environment == container.end() || !environment->is_array()) return {};
  for (const json& variable : *environment) {
    if (!variable.is_object() ||
        variable.value("name", json()) != std::string(kPodConfigVariable)) {
      continue;
    }
    const auto value = variable.find("value");
    return value != variable.end() && value->is_string() ? RulesFrom(value->get<std::string>())
                                                         : std::vector<sizing::Rule>();
  }
  return {};
}

sizing::MemoryRule Stricter(const sizing::MemoryRule& a, const sizing::MemoryRule& b) {
  return {.overhead_percent = std::max(a.overhead_percent, b.overhead_percent),
          .overhead_fixed_bytes = std::max(a.overhead_fixed_bytes, b.overhead_fixed_bytes)};
}

}  // namespace podcache::control
