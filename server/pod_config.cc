#include "server/pod_config.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <stdexcept>

namespace podcache::server {

namespace {

using nlohmann::json;

constexpr std::size_t kMaxTextBytes = 1U << 20;
constexpr std::size_t kMaxRules = 256;

// What a member must be, for the one line that goes to the user.
[[noreturn]] void Fail(const std::string& member, const std::string& wanted) {
  throw std::invalid_argument(member + " is not " + wanted);
}

const json* Find(const json& object, const char* member) {
  const auto found = object.find(member);
  return found == object.end() || found->is_null() ? nullptr : &*found;
}

std::uint64_t Number(const json& value, const std::string& member, std::uint64_t low,
                     std::uint64_t high) {
  if (!value.is_number_unsigned() || value.get<std::uint64_t>() < low ||
      value.get<std::uint64_t>() > high) {
    Fail(member, "a number between " + std::to_string(low) + " and " + std::to_string(high));
  }
  return value.get<std::uint64_t>();
}

template <class T>
void ReadNumber(const json& object, const char* member, std::uint64_t low, std::uint64_t high,
                T& target) {
  const json* const value = Find(object, member);
  if (value == nullptr) return;
  target = static_cast<std::uint32_t>(Number(*value, member, low, high));
}

void ReadBytes(const json& object, const char* member, std::uint64_t low, std::uint64_t& target) {
  const json* const value = Find(object, member);
  if (value != nullptr)
    target = Number(*value, member, low, std::numeric_limits<std::int64_t>::max());
}

std::string Text(const json& value, const std::string& member) {
  if (!value.is_string()) Fail(member, "a text");
  return value.get<std::string>();
}

void ReadText(const json& object, const char* member, std::string& target) {
  const json* const value = Find(object, member);
  if (value != nullptr) target = Text(*value, member);
}

const json* FindObject(const json& object, const char* member) {
  const json* const value = Find(object, member);
  if (value != nullptr && !value->is_object()) Fail(member, "an object");
  return value;
}

void ReadMemory(const json& root, PodConfig& config) {
  const json* const memory = FindObject(root, "memory");
  if (memory == nullptr) Fail("memory", "there");
  std::uint64_t bytes = 0;
  std::uint32_t percent = 0;
  ReadBytes(*memory, "sizeBytes", 1, bytes);
  ReadNumber(*memory, "percentOfLimit", 1, 100, percent);
  if ((bytes != 0) == (percent != 0)) Fail("memory", "exactly one of sizeBytes and percentOfLimit");
  if (bytes != 0) config.memory_bytes = bytes;
  if (percent != 0) config.memory_percent_of_limit = percent;
}

void ReadThreads(const json& root, PodConfig& config) {
  const json* const threads = FindObject(root, "threads");
  if (threads == nullptr) return;
  std::string mode = "Auto";
  ReadText(*threads, "mode", mode);
  if (mode == "Auto") return;
  if (mode != "Fixed") Fail("threads.mode", "Auto or Fixed");
  const json* const count = Find(*threads, "count");
  if (count == nullptr) Fail("threads.count", "there");
  config.threads = static_cast<std::uint32_t>(Number(*count, "threads.count", 1, 256));
}

void ReadMatch(const json& rule, sizing::RuleMatch& match) {
  const json* const object = FindObject(rule, "match");
  if (object == nullptr) return;
  if (const json* const arch = Find(*object, "arch"); arch != nullptr) {
    if (!arch->is_array()) Fail("match.arch", "a list");
    for (const json& one : *arch) match.arch.push_back(Text(one, "match.arch"));
  }
  ReadBytes(*object, "pageSizeBytes", 1, match.page_size_bytes);
  if (const json* const selector = FindObject(*object, "nodeSelector"); selector != nullptr) {
    for (const auto& [key, value] : selector->items()) {
      match.node_selector.emplace_back(key, Text(value, "match.nodeSelector"));
    }
  }
}

sizing::Rule ReadRule(const json& object) {
  if (!object.is_object()) Fail("rules", "a list of objects");
  sizing::Rule rule;
  ReadText(object, "name", rule.name);
  ReadMatch(object, rule.match);
  if (const json* const threads = FindObject(object, "threads"); threads != nullptr) {
    ReadNumber(*threads, "perCPUPercent", 1, 400, rule.threads.per_cpu_percent);
    ReadNumber(*threads, "min", 1, 256, rule.threads.min);
    ReadNumber(*threads, "max", 1, 256, rule.threads.max);
  }
  if (const json* const memory = FindObject(object, "memory"); memory != nullptr) {
    ReadNumber(*memory, "overheadPercent", 0, 200, rule.memory.overhead_percent);
    ReadBytes(*memory, "overheadFixedBytes", 0, rule.memory.overhead_fixed_bytes);
  }
  return rule;
}

void ReadRules(const json& root, PodConfig& config) {
  const json* const rules = Find(root, "rules");
  if (rules == nullptr) return;
  if (!rules->is_array() || rules->size() > kMaxRules) {
    Fail("rules", "a list of at most " + std::to_string(kMaxRules) + " rules");
  }
  for (const json& rule : *rules) config.rules.push_back(ReadRule(rule));
}

void Read(const std::string& text, PodConfig& config) {
  if (text.size() > kMaxTextBytes) Fail("it", "at most 1 MiB of text");
  const json root = json::parse(text, nullptr, false);
  if (!root.is_object()) Fail("it", "a JSON object");
  std::uint64_t version = 0;
  ReadBytes(root, "version", 0, version);
  if (version != 1) Fail("version", "1, the only one this server knows");
  ReadText(root, "sidecar", config.sidecar);
  ReadText(root, "configHash", config.config_hash);
  ReadMemory(root, config);
  ReadThreads(root, config);
  std::uint64_t max_item_size = 0;
  ReadBytes(root, "maxItemSizeBytes", 1024, max_item_size);
  if (max_item_size != 0) config.max_item_size_bytes = max_item_size;
  ReadNumber(root, "maxConnections", 1, 1'000'000, config.max_connections);
  ReadRules(root, config);
}

}  // namespace

bool ParsePodConfig(const std::string& json_text, PodConfig& config, std::string& error) {
  try {
    Read(json_text, config);
  } catch (const std::exception& failure) {
    error = std::string("PODCACHE_POD_CONFIG: ") + failure.what();
    return false;
  }
  return true;
}

}  // namespace podcache::server
