// The part of an object's metadata that the operator reads. Pure values; times are RFC 3339 text as
// the API server writes them, and so compare in order of time.
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "operator/api/v1alpha1/json_cursor.h"

namespace podcache::control {

struct ObjectMetadata {
  std::string name;
  std::string namespace_name;  // Empty for cluster-scoped kinds.
  std::string uid;
  std::string resource_version;
  std::int64_t generation = 0;
  std::string creation_timestamp;
  std::string deletion_timestamp;  // Empty: not being deleted.
  std::map<std::string, std::string> labels;
  std::map<std::string, std::string> annotations;

  bool operator==(const ObjectMetadata&) const = default;
};

void Read(const JsonCursor& json, ObjectMetadata& out);

// Empty members are left out.
nlohmann::json ToJson(const ObjectMetadata& value);

}  // namespace podcache::control
