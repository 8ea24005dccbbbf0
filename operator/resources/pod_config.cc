#include "operator/resources/pod_config.h"

#include <fmt/format.h>
#include <xxhash.h>

#include <nlohmann/json.hpp>

namespace podcache::control {

namespace {

using nlohmann::json;

constexpr int kPodConfigVersion = 1;

json MatchJson(const sizing::RuleMatch& match) {
  json result = json::object();
  if (!match.arch.empty()) result["arch"] = match.arch;
  if (match.page_size_bytes != 0) result["pageSizeBytes"] = match.page_size_bytes;
  for (const auto& [key, value] : match.node_selector) result["nodeSelector"][key] = value;
  return result;
}

json RuleJson(const sizing::Rule& rule) {
  return {{"name", rule.name},
          {"match", MatchJson(rule.match)},
          {"threads",
           {{"perCPUPercent", rule.threads.per_cpu_percent},
            {"min", rule.threads.min},
            {"max", rule.threads.max}}},
          {"memory",
           {{"overheadPercent", rule.memory.overhead_percent},
            {"overheadFixedBytes", rule.memory.overhead_fixed_bytes}}}};
}

json MemoryJson(const CacheMemory& memory) {
  if (memory.size_bytes) return {{"sizeBytes", *memory.size_bytes}};
  return {{"percentOfLimit", memory.percent_of_limit.value_or(0)}};
}

json ThreadsJson(const CacheThreads& threads) {
  json result = {{"mode", std::string(ToString(threads.mode))}};
  if (threads.mode == ThreadsMode::kFixed && threads.count) result["count"] = *threads.count;
  return result;
}

}  // namespace

std::string RestartHash(const CacheSidecarSpec& spec) {
  const json parts = {{"image", spec.image},
                      {"listen", ToJson(spec.listen)},
                      {"maxItemSizeBytes", spec.memory.max_item_size_bytes},
                      {"maxConnections", spec.max_connections},
                      {"extraArgs", spec.extra_args}};
  const std::string text = parts.dump();
  const XXH128_hash_t hash = XXH3_128bits(text.data(), text.size());
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string BuildPodConfig(const CacheSidecar& sidecar, const std::vector<sizing::Rule>& rules) {
  json config = {
      {"version", kPodConfigVersion},
      {"sidecar", sidecar.metadata.namespace_name + "/" + sidecar.metadata.name},
      {"configHash", RestartHash(sidecar.spec)},
      {"memory", MemoryJson(sidecar.spec.memory)},
      {"maxItemSizeBytes", sidecar.spec.memory.max_item_size_bytes},
      {"maxConnections", sidecar.spec.max_connections},
      {"threads", ThreadsJson(sidecar.spec.threads)},
  };
  for (const sizing::Rule& rule : rules) config["rules"].push_back(RuleJson(rule));
  return config.dump();
}

}  // namespace podcache::control
