// A Kubernetes object as it came over the wire: JSON with accessors for the metadata that every
// kind has.
//
// Only this header is needed to pass objects around; who reads or builds fields includes
// <nlohmann/json.hpp> in the .cc. Accessors never fail: what is missing or of the wrong type reads
// as empty. Threads: a const Object may be read from any thread; views live as long as the object
// is not changed. Ownership: a value; copies are deep.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "common/status/status.h"
#include "operator/client/resource.h"

namespace podcache::kube {

struct OwnerReference {
  std::string api_version;
  std::string kind;
  std::string name;
  std::string uid;
};

class Object {
 public:
  Object();
  explicit Object(nlohmann::json value);
  Object(const Object& other);
  Object(Object&& other) noexcept;
  Object& operator=(const Object& other);
  Object& operator=(Object&& other) noexcept;
  ~Object();

  // Refuses what is not a JSON object. metadata.managedFields is dropped: it is often the larger
  // half.
  static absl::StatusOr<Object> Parse(std::string_view text);

  const nlohmann::json& json() const { return *value_; }
  nlohmann::json& mutable_json() { return *value_; }
  // For JSON that came by another way than Parse.
  void StripManagedFields();
  // Compact; invalid UTF-8 is replaced.
  std::string Dump() const;

  std::string_view api_version() const;
  std::string_view kind() const;
  std::string_view name() const;
  std::string_view ns() const;
  std::string_view uid() const;
  std::string_view resource_version() const;
  std::int64_t generation() const;  // 0 when absent.
  std::string_view creation_timestamp() const;
  bool being_deleted() const;  // deletionTimestamp is set.
  NamespacedName key() const;

  std::optional<std::string_view> label(std::string_view key) const;
  std::optional<std::string_view> annotation(std::string_view key) const;
  std::map<std::string, std::string> labels() const;
  std::map<std::string, std::string> annotations() const;
  // The owner reference with controller: true.
  std::optional<OwnerReference> controller() const;

  // The value at a path such as {"status", "phase"}; null when any step is missing.
  const nlohmann::json& At(std::initializer_list<std::string_view> path) const;
  // The text at a path; empty when missing or not a string.
  std::string_view TextAt(std::initializer_list<std::string_view> path) const;

 private:
  std::unique_ptr<nlohmann::json> value_;  // Never null, except after a move.
};

}  // namespace podcache::kube
