#include "operator/resources/sidecar_selection.h"

#include <algorithm>
#include <tuple>

#include "operator/resources/names.h"

namespace podcache::control {

namespace {

bool Matches(const LabelSelectorRequirement& requirement,
             const std::map<std::string, std::string>& labels) {
  const auto label = labels.find(requirement.key);
  const bool present = label != labels.end();
  const auto listed = [&] {
    return std::find(requirement.values.begin(), requirement.values.end(), label->second) !=
           requirement.values.end();
  };
  switch (requirement.op) {
    case SelectorOperator::kIn:
      return present && listed();
    case SelectorOperator::kNotIn:
      return !present || !listed();
    case SelectorOperator::kExists:
      return present;
    case SelectorOperator::kDoesNotExist:
      return !present;
  }
  return false;
}

bool Older(const CacheSidecar* a, const CacheSidecar* b) {
  return std::tie(a->metadata.creation_timestamp, a->metadata.name) <
         std::tie(b->metadata.creation_timestamp, b->metadata.name);
}

}  // namespace

InjectRequest InjectRequestOf(const std::map<std::string, std::string>& pod_labels) {
  const auto label = pod_labels.find(std::string(kInjectLabel));
  if (label == pod_labels.end()) return InjectRequest::kNever;
  if (label->second == kInjectTrue) return InjectRequest::kOptional;
  if (label->second == kInjectRequired) return InjectRequest::kRequired;
  return InjectRequest::kNever;
}

// An empty selector selects nothing here: the CRD refuses it, and one stored before the rule must
// not match every pod.
bool Matches(const LabelSelector& selector, const std::map<std::string, std::string>& labels) {
  if (selector.match_labels.empty() && selector.match_expressions.empty()) return false;
  for (const auto& [key, value] : selector.match_labels) {
    const auto label = labels.find(key);
    if (label == labels.end() || label->second != value) return false;
  }
  return std::all_of(
      selector.match_expressions.begin(), selector.match_expressions.end(),
      [&](const LabelSelectorRequirement& requirement) { return Matches(requirement, labels); });
}

SidecarSelection SelectSidecar(const std::map<std::string, std::string>& pod_labels,
                               std::string_view wanted_name,
                               const std::vector<const CacheSidecar*>& sidecars) {
  std::vector<const CacheSidecar*> matching;
  for (const CacheSidecar* sidecar : sidecars) {
    if (!sidecar->metadata.deletion_timestamp.empty()) continue;
    if (Matches(sidecar->spec.selector, pod_labels)) matching.push_back(sidecar);
  }
  SidecarSelection selection;
  if (!wanted_name.empty()) {
    const auto named = std::find_if(
        matching.begin(), matching.end(),
        [&](const CacheSidecar* sidecar) { return sidecar->metadata.name == wanted_name; });
    if (named != matching.end()) {
      selection.chosen = *named;
    } else {
      selection.warning = "CacheSidecar " + std::string(wanted_name) + " named by annotation " +
                          std::string(kSidecarNameAnnotation) + " does not select this pod";
    }
    return selection;
  }
  if (matching.empty()) return selection;
  selection.chosen = *std::min_element(matching.begin(), matching.end(), Older);
  if (matching.size() > 1) {
    selection.warning = std::to_string(matching.size()) +
                        " CacheSidecars select this pod; the oldest, " +
                        selection.chosen->metadata.name + ", is used (choose by annotation " +
                        std::string(kSidecarNameAnnotation) + ")";
  }
  return selection;
}

}  // namespace podcache::control
