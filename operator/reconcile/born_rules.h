// The sizing rules that a pod was born with, read back from the environment of its container: the
// server keeps to the one of them it chose, whatever the profile says by now.
//
// Threads: pure functions. Source: docs/designs/0001-pod-contract.md, PODCACHE_POD_CONFIG.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <vector>

#include "common/sizing/sizing.h"

namespace podcache::control {

// Empty where there is no table, or none that can be read: the server uses the built-in rule then.
std::vector<sizing::Rule> BornRules(const nlohmann::json& container);

// Holds wherever one of the two does: the larger overhead of both.
sizing::MemoryRule Stricter(const sizing::MemoryRule& a, const sizing::MemoryRule& b);

}  // namespace podcache::control
