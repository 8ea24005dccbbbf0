// Which sizing rules apply to a cache, and which of them its pod may still meet before it is bound
// to a node. Pure functions over common/sizing.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "common/sizing/sizing.h"
#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/api/v1alpha1/cache_sidecar.h"

namespace podcache::control {

std::vector<sizing::Rule> ToSizingRules(const std::vector<SizingRule>& rules);

// The object's own rules, else those of its profile; none (the built-in rule then applies) without
// both. `profile` is what profileRef names, or the one named default, and may be absent.
std::vector<sizing::Rule> RulesOf(const CacheSidecarSpec& spec, const CacheProfile* profile);

// The rules one of which will apply, given what is known before the node is: the pod's
// nodeSelector. The built-in rule is among them if a node is possible that no rule matches. Never
// empty.
std::vector<sizing::Rule> PossibleRules(
    const std::vector<sizing::Rule>& rules,
    const std::map<std::string, std::string>& pod_node_selector);

// Names of rules that an earlier one always takes the place of.
std::vector<std::string> UnreachableRules(const std::vector<SizingRule>& rules);

}  // namespace podcache::control
