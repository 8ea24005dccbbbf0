#include "operator/reconcile/pod_plan.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "operator/api/v1alpha1/quantity.h"
#include "operator/reconcile/born_rules.h"
#include "operator/resources/sidecar_sizing.h"
#include "operator/resources/sizing_rules.h"

namespace podcache::control {

namespace {

sizing::Host HostOf(const PodPlanInput& input) {
  sizing::Host host;
  host.arch = input.host->arch;
  host.page_size_bytes = input.host->page_size_bytes;
  host.node_labels_known = input.node_labels.has_value();
  if (input.node_labels) {
    host.node_labels.assign(input.node_labels->begin(), input.node_labels->end());
  }
  return host;
}

// The rule the server itself keeps to; it does not know the labels of its node.
sizing::Rule RuleOfServer(const PodPlanInput& input) {
  sizing::Host host = HostOf(input);
  host.node_labels_known = false;
  const sizing::Rule* rule = sizing::ChooseRule(input.pod.born_rules, host);
  return rule == nullptr ? sizing::BuiltInDefaultRule() : *rule;
}

bool AnyByLabels(const std::vector<sizing::Rule>& rules) {
  return std::any_of(rules.begin(), rules.end(),
                     [](const sizing::Rule& rule) { return !rule.match.node_selector.empty(); });
}

class Planner {
 public:
  explicit Planner(const PodPlanInput& input) : input_(input) {}

  PodPlan Plan() {
    if (!input_.host && !ChooseWithoutHost()) return LeaveAlone();
    if (input_.host) ChooseForHost();
    Size();
    if (!plan_.impossible) FollowForeignChange();
    return std::move(plan_);
  }

 private:
  // Without a word from the server only a table that leaves no choice decides.
  bool ChooseWithoutHost() {
    plan_.sized = Sized::kArchUnknown;
    plan_.message = "the cache has not told its architecture yet";
    const std::vector<sizing::Rule> possible =
        PossibleRules(input_.rules, input_.pod.node_selector);
    if (possible.size() != 1) return false;
    rule_ = possible.front();
    rule_.memory = Stricter(rule_.memory, MemoryRuleOfBirth());
    return true;
  }

  sizing::MemoryRule MemoryRuleOfBirth() const {
    const std::vector<sizing::Rule> born =
        PossibleRules(input_.pod.born_rules, input_.pod.node_selector);
    sizing::MemoryRule strictest = born.front().memory;
    for (const sizing::Rule& rule : born) strictest = Stricter(strictest, rule.memory);
    return strictest;
  }

  PodPlan LeaveAlone() {
    plan_.target.amounts = input_.pod.container.spec;
    plan_.impossible = true;
    return std::move(plan_);
  }

  void ChooseForHost() {
    const sizing::Rule* rule = sizing::ChooseRule(input_.rules, HostOf(input_));
    if (rule != nullptr) {
      rule_ = *rule;
    } else {
      rule_ = sizing::BuiltInDefaultRule();
      if (!input_.rules.empty()) {
        plan_.sized = Sized::kNoMatch;
        plan_.message = "no sizing rule matches " + input_.host->arch + " with pages of " +
                        FormatBytes(input_.host->page_size_bytes) + "; the built-in rule is used";
      }
    }
    if (AnyByLabels(input_.rules) && !input_.node_labels) {
      plan_.message += std::string(plan_.message.empty() ? "" : "; ") +
                       "rules with nodeSelector were passed over: the operator may not read nodes";
    }
    rule_.memory = Stricter(rule_.memory, RuleOfServer(input_).memory);
  }

  void Size() {
    const bool guaranteed = input_.pod.guaranteed && input_.spec.qos == QosMode::kPreserve;
    const SidecarSizing sizing = SizeSidecar(input_.spec, {rule_}, guaranteed);
    plan_.rule_name = rule_.name;
    plan_.target.rule = rule_.memory;
    plan_.target.amounts = ReachableAmounts(input_.pod.container.spec, sizing.amounts);
    plan_.target.cache_bytes = sizing.cache_bytes;
    plan_.target.threads = Threads(plan_.target.amounts);
    if (sizing.cache_bytes >= sizing.desired_cache_bytes) return;
    plan_.sized = Sized::kLimitTooSmall;
    plan_.message = "memory limit " + FormatBytes(sizing.amounts.memory_limit_bytes) +
                    " holds a cache of " + FormatBytes(sizing.cache_bytes) + "; " +
                    FormatBytes(sizing.desired_cache_bytes) + " needs " +
                    FormatBytes(sizing.needed_limit_bytes) + " under rule " + rule_.name;
    plan_.impossible = sizing.cache_bytes == 0;
  }

  std::uint32_t Threads(const ContainerAmounts& amounts) const {
    const std::uint64_t limit = amounts.cpu_limit_milli;
    return SidecarThreads(input_.spec.threads, rule_.threads,
                          limit == 0 ? std::nullopt : std::optional(limit),
                          input_.host ? input_.host->usable_cpus : 0);
  }

  void FollowForeignChange() {
    const ContainerAmounts& spec = input_.pod.container.spec;
    SidecarTarget& target = plan_.target;
    if (spec == target.amounts ||
        input_.pod.applied_resources != AppliedResourcesText(target.amounts))
      return;
    if (input_.last_patched && *input_.last_patched != target.amounts) return;
    plan_.foreign_change = true;
    target.amounts = spec;
    target.threads = Threads(spec);
    ResizeObservation observed;
    observed.container = input_.pod.container;
    observed.server = ServerObservation{};
    observed.server->cgroup_limit_bytes = input_.server_cgroup_limit_bytes;
    const std::uint64_t limit = SafeMemoryLimitBytes(observed);
    if (limit == 0) return;
    target.cache_bytes =
        std::min(target.cache_bytes, sizing::LargestCacheBytes(target.rule, limit));
    plan_.impossible = target.cache_bytes == 0;
  }

  const PodPlanInput& input_;
  PodPlan plan_;
  sizing::Rule rule_;
};

}  // namespace

PodPlan PlanPod(const PodPlanInput& input) { return Planner(input).Plan(); }

std::string AppliedResourcesText(const ContainerAmounts& amounts) {
  return ToResourcesJson(amounts).dump();
}

}  // namespace podcache::control
