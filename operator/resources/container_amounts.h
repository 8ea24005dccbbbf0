// Requests and limits of one container. Pure values; bytes and thousandths of a core.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>

namespace podcache::control {

// 0: not set.
struct ContainerAmounts {
  std::uint64_t memory_request_bytes = 0;
  std::uint64_t memory_limit_bytes = 0;
  std::uint64_t cpu_request_milli = 0;
  std::uint64_t cpu_limit_milli = 0;

  bool operator==(const ContainerAmounts&) const = default;
};

// The `resources` object of a container; what is not set is left out.
nlohmann::json ToResourcesJson(const ContainerAmounts& amounts);

// From a container's `resources`, or from a container status; what is absent or no quantity counts
// as not set.
ContainerAmounts AmountsFromResourcesJson(const nlohmann::json& resources);

}  // namespace podcache::control
