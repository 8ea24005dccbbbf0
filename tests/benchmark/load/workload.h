// The shapes of load that have a name.
//
// Source: performance.md 1.2 and 4: what memcached's and Alibaba's published figures were taken
// with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace podcache::bench {

struct Workload {
  std::string_view name;
  std::string_view help;
  // A cycle of requests: first the sets, then the gets.
  std::uint32_t sets = 0;
  std::uint32_t gets = 0;
  std::uint32_t keys_per_get = 1;
  // Requests of one connection that wait for their replies together; they leave with one send.
  std::uint32_t pipeline = 1;
  std::uint32_t connections = 50;
  std::size_t value_bytes = 128;
  // Beside it, on connections of their own: as many sets for each thousand keys that were got.
  std::uint32_t paced_sets = 0;
};

std::span<const Workload> Workloads();

// By name, or name:pipeline.
std::optional<Workload> FindWorkload(std::string_view name);

}  // namespace podcache::bench
