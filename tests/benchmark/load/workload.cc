#include "tests/benchmark/load/workload.h"

#include <charconv>
#include <string>

namespace podcache::bench {

namespace {

// One set for 83 keys: what was published beside 13.2 million keys a second.
constexpr std::uint32_t kPublishedPacedSets = 12;

constexpr Workload kWorkloads[] = {
    {.name = "memtier-1-10",
     .help = "random keys, one set for ten gets, 128-byte values",
     .sets = 1,
     .gets = 10,
     .pipeline = 50},
    {.name = "get8",
     .help = "single gets, eight in flight on each connection, 10-byte values",
     .gets = 1,
     .pipeline = 8,
     .value_bytes = 10},
    {.name = "mget50",
     .help = "gets of 50 keys each, 10-byte values",
     .gets = 1,
     .keys_per_get = 50,
     .value_bytes = 10},
    {.name = "mget50-sets",
     .help = "the same, and beside it 12 sets for each 1000 keys",
     .gets = 1,
     .keys_per_get = 50,
     .value_bytes = 10,
     .paced_sets = kPublishedPacedSets},
    {.name = "set50", .help = "sets only, 128-byte values", .sets = 1, .pipeline = 50},
};

}  // namespace

std::span<const Workload> Workloads() { return kWorkloads; }

std::optional<Workload> FindWorkload(std::string_view name) {
  const std::size_t colon = name.find(':');
  for (Workload workload : kWorkloads) {
    if (workload.name != name.substr(0, colon)) continue;
    if (colon == std::string_view::npos) return workload;
    const std::string_view digits = name.substr(colon + 1);
    const auto [end, error] =
        std::from_chars(digits.data(), digits.data() + digits.size(), workload.pipeline);
    const bool whole = error == std::errc() && end == digits.data() + digits.size();
    if (!whole || workload.pipeline == 0) return std::nullopt;
    return workload;
  }
  return std::nullopt;
}

}  // namespace podcache::bench
