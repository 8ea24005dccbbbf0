#include "operator/api/v1alpha1/object_metadata.h"

#include <cstddef>
#include <limits>
#include <nlohmann/json.hpp>

#include "operator/api/v1alpha1/json_reader.h"

namespace podcache::control {

namespace {

constexpr std::size_t kLongestName = 253;
constexpr std::size_t kLongestToken = 128;
constexpr std::size_t kLongestLabel = 63;
// The API server's own bound on all annotations of an object together is 256 KiB.
constexpr std::size_t kLongestAnnotation = 256UL << 10;
constexpr std::size_t kMostEntries = 4096;

void Put(nlohmann::json& json, const char* key, const std::string& value) {
  if (!value.empty()) json[key] = value;
}

}  // namespace

void Read(const JsonCursor& json, ObjectMetadata& out) {
  ReadString(json.Require("name"), kLongestName, out.name);
  ReadString(json.At("namespace"), kLongestName, out.namespace_name);
  ReadString(json.At("uid"), kLongestToken, out.uid);
  ReadString(json.At("resourceVersion"), kLongestToken, out.resource_version);
  ReadInteger(json.At("generation"), 0, std::numeric_limits<std::int64_t>::max(), out.generation);
  ReadString(json.At("creationTimestamp"), kLongestToken, out.creation_timestamp);
  ReadString(json.At("deletionTimestamp"), kLongestToken, out.deletion_timestamp);
  ReadStringMap(json.At("labels"), kMostEntries, kLongestLabel, out.labels);
  ReadStringMap(json.At("annotations"), kMostEntries, kLongestAnnotation, out.annotations);
}

nlohmann::json ToJson(const ObjectMetadata& value) {
  nlohmann::json json = nlohmann::json::object();
  Put(json, "name", value.name);
  Put(json, "namespace", value.namespace_name);
  Put(json, "uid", value.uid);
  Put(json, "resourceVersion", value.resource_version);
  if (value.generation != 0) json["generation"] = value.generation;
  Put(json, "creationTimestamp", value.creation_timestamp);
  Put(json, "deletionTimestamp", value.deletion_timestamp);
  if (!value.labels.empty()) json["labels"] = value.labels;
  if (!value.annotations.empty()) json["annotations"] = value.annotations;
  return json;
}

}  // namespace podcache::control
