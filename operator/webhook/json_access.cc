#include "operator/webhook/json_access.h"

#include <nlohmann/json.hpp>

namespace podcache::control {

const nlohmann::json& Member(const nlohmann::json& object, std::string_view key) {
  static const nlohmann::json kNull;
  if (!object.is_object()) return kNull;
  const auto found = object.find(key);
  return found == object.end() ? kNull : *found;
}

std::string Text(const nlohmann::json& object, std::string_view key) {
  const nlohmann::json& value = Member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

std::map<std::string, std::string> TextMap(const nlohmann::json& object) {
  std::map<std::string, std::string> result;
  if (!object.is_object()) return result;
  for (const auto& [key, value] : object.items()) {
    if (value.is_string()) result.emplace(key, value.get<std::string>());
  }
  return result;
}

}  // namespace podcache::control
