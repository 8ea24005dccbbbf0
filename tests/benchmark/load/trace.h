// Sequences of requests for cache experiments: read from public trace formats, or generated.
//
// Threads: one owner.
#pragma once

#include <cstdint>
#include <istream>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::bench {

enum class TraceVerb : std::uint8_t { kGet, kSet, kDelete };

struct TraceRequest {
  double seconds = 0;     // Since any beginning.
  std::uint64_t key = 0;  // Stands for the key's bytes.
  std::uint32_t key_bytes = 16;
  std::uint32_t value_bytes = 0;
  std::uint32_t ttl_seconds = 0;  // 0: never expires.
  TraceVerb verb = TraceVerb::kGet;
};

class Trace {
 public:
  virtual ~Trace() = default;
  // False at its end. Throws Failure at what is not of its format.
  virtual bool Next(TraceRequest& request) = 0;
};

// The formats, with a line about each.
std::string TraceFormatHelp();
// `input` outlives it. Throws Failure if there is no such format.
std::unique_ptr<Trace> OpenTrace(std::string_view format, std::istream& input);

// Generated ones, deterministic by their seed.
struct GeneratorPlan {
  std::uint64_t requests = 5'000'000;
  std::uint64_t keys = 1'000'000;
  std::uint64_t seed = 1;
};
std::string GeneratorHelp();
// Throws Failure if there is none of this name.
std::unique_ptr<Trace> NewGenerator(std::string_view name, const GeneratorPlan& plan);

}  // namespace podcache::bench
