// The configuration that travels with a pod: PODCACHE_POD_CONFIG, written by the operator, read
// once at start.
//
// Source: docs/designs/0001-pod-contract.md. Unknown members are ignored; a missing table of rules
// means the built-in rule.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "common/sizing/sizing.h"

namespace podcache::server {

struct PodConfig {
  std::string sidecar;
  std::string config_hash;
  // One of the two.
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint32_t> memory_percent_of_limit;
  std::optional<std::uint64_t> max_item_size_bytes;
  std::optional<std::uint32_t> max_connections;
  std::optional<std::uint32_t> threads;  // Absent: by the rule.
  std::vector<sizing::Rule> rules;
};

// False with one line of reason if the text is no such configuration.
bool ParsePodConfig(const std::string& json_text, PodConfig& config, std::string& error);

}  // namespace podcache::server
