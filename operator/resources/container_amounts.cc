#include "operator/resources/container_amounts.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "operator/api/v1alpha1/quantity.h"

namespace podcache::control {

namespace {

// resources[list][name] as text. Numbers are allowed by Kubernetes ("cpu": 2) and come back from it
// as text.
std::optional<std::string> Find(const nlohmann::json& resources, const char* list,
                                const char* name) {
  if (!resources.is_object()) return std::nullopt;
  const auto amounts = resources.find(list);
  if (amounts == resources.end() || !amounts->is_object()) return std::nullopt;
  const auto amount = amounts->find(name);
  if (amount == amounts->end()) return std::nullopt;
  return amount->is_string() ? amount->get<std::string>() : amount->dump();
}

std::uint64_t Bytes(const nlohmann::json& resources, const char* list) {
  const auto text = Find(resources, list, "memory");
  return text ? ParseAnyBytes(*text).value_or(0) : 0;
}

std::uint64_t Milli(const nlohmann::json& resources, const char* list) {
  const auto text = Find(resources, list, "cpu");
  return text ? ParseAnyMilli(*text).value_or(0) : 0;
}

}  // namespace

nlohmann::json ToResourcesJson(const ContainerAmounts& amounts) {
  nlohmann::json json = nlohmann::json::object();
  const auto put = [&json](const char* list, std::uint64_t cpu_milli, std::uint64_t memory_bytes) {
    if (cpu_milli != 0) json[list]["cpu"] = FormatMilli(cpu_milli);
    if (memory_bytes != 0) json[list]["memory"] = FormatBytes(memory_bytes);
  };
  put("requests", amounts.cpu_request_milli, amounts.memory_request_bytes);
  put("limits", amounts.cpu_limit_milli, amounts.memory_limit_bytes);
  return json;
}

ContainerAmounts AmountsFromResourcesJson(const nlohmann::json& resources) {
  return {.memory_request_bytes = Bytes(resources, "requests"),
          .memory_limit_bytes = Bytes(resources, "limits"),
          .cpu_request_milli = Milli(resources, "requests"),
          .cpu_limit_milli = Milli(resources, "limits")};
}

}  // namespace podcache::control
