// Reading JSON of unknown shape without exceptions: what is missing or of another type reads as
// null or empty. Views live as long as the document.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace podcache::control {

const nlohmann::json& Member(const nlohmann::json& object, std::string_view key);
std::string Text(const nlohmann::json& object, std::string_view key);
std::map<std::string, std::string> TextMap(const nlohmann::json& object);

}  // namespace podcache::control
