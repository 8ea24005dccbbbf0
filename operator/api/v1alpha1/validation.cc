#include "operator/api/v1alpha1/validation.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

namespace podcache::control {

namespace {

constexpr std::int32_t kMetricsPort = 9150;
constexpr std::int32_t kAdminPort = 9151;

class Checker {
 public:
  explicit Checker(FieldErrors& errors) : errors_(errors) {}

  void Require(bool holds, std::string path, std::string message) {
    if (!holds) errors_.push_back({std::move(path), std::move(message)});
  }

 private:
  FieldErrors& errors_;
};

void CheckRules(const std::vector<SizingRule>& rules, const std::string& path, Checker& check) {
  check.Require(!rules.empty(), path, "needs at least one rule");
  for (std::size_t i = 0; i < rules.size(); ++i) {
    check.Require(rules[i].threads.min <= rules[i].threads.max,
                  path + "[" + std::to_string(i) + "].threads", "min must not exceed max");
  }
}

void CheckSelector(const LabelSelector& selector, Checker& check) {
  check.Require(!selector.match_labels.empty() || !selector.match_expressions.empty(),
                "spec.selector", "selector must not be empty");
  for (std::size_t i = 0; i < selector.match_expressions.size(); ++i) {
    const LabelSelectorRequirement& requirement = selector.match_expressions[i];
    const bool takes_values =
        requirement.op == SelectorOperator::kIn || requirement.op == SelectorOperator::kNotIn;
    check.Require(
        takes_values != requirement.values.empty(),
        "spec.selector.matchExpressions[" + std::to_string(i) + "]",
        "values are required for In and NotIn and not allowed for Exists and DoesNotExist");
  }
}

void CheckMemory(const CacheSidecarSpec& spec, Checker& check) {
  const CacheMemory& memory = spec.memory;
  check.Require(memory.size_bytes.has_value() != memory.percent_of_limit.has_value(), "spec.memory",
                "set exactly one of size, percentOfLimit");
  check.Require(!memory.percent_of_limit || spec.resources.memory.limit_bytes, "spec",
                "percentOfLimit needs resources.memory.limit");
  check.Require(!memory.size_bytes || memory.max_item_size_bytes <= *memory.size_bytes / 2,
                "spec.memory", "maxItemSize must be at most half of size");
}

// Options of the server that other fields of the object set.
bool IsReserved(std::string_view argument) {
  constexpr std::string_view kShort = "acIlmpstU";
  constexpr std::array<std::string_view, 13> kLong{
      "unix-mask",   "conn-limit", "max-item-size", "listen",   "memory-limit",      "port",
      "unix-socket", "threads",    "udp-port",      "loopback", "extra-unix-socket", "http-listen",
      "admin-listen"};
  if (argument.substr(0, 2) == "--") {
    const std::string_view name = argument.substr(2, argument.find('=') - 2);
    return std::find(kLong.begin(), kLong.end(), name) != kLong.end();
  }
  if (argument.empty() || argument.front() != '-') return false;
  // As in -vvm64: letters up to the first that is none.
  for (const char letter : argument.substr(1)) {
    if (kShort.find(letter) != std::string_view::npos) return true;
    if ((letter < 'a' || letter > 'z') && (letter < 'A' || letter > 'Z')) return false;
  }
  return false;
}

void CheckListen(const SidecarListen& listen, Checker& check) {
  check.Require(listen.loopback || listen.unix_socket.enabled, "spec.listen",
                "enable at least one listener");
  check.Require(listen.port != kMetricsPort && listen.port != kAdminPort, "spec.listen.port",
                "9150 and 9151 are the ports of metrics and administration");
}

}  // namespace

FieldErrors Validate(const CacheSidecar& sidecar) {
  const CacheSidecarSpec& spec = sidecar.spec;
  FieldErrors errors;
  Checker check(errors);
  CheckSelector(spec.selector, check);
  check.Require(!(spec.profile_ref && spec.sizing), "spec", "profileRef and sizing are exclusive");
  if (spec.sizing) CheckRules(spec.sizing->rules, "spec.sizing.rules", check);
  CheckMemory(spec, check);
  check.Require(spec.threads.mode != ThreadsMode::kFixed || spec.threads.count, "spec.threads",
                "threads.count is required when mode is Fixed");
  CheckListen(spec.listen, check);
  check.Require(
      std::none_of(spec.extra_args.begin(), spec.extra_args.end(), IsReserved), "spec.extraArgs",
      "memory, threads, connections and listeners are set by the fields of this object, not by "
      "extraArgs");
  return errors;
}

FieldErrors Validate(const CacheProfile& profile) {
  FieldErrors errors;
  Checker check(errors);
  CheckRules(profile.spec.rules, "spec.rules", check);
  return errors;
}

}  // namespace podcache::control
