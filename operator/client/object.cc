#include "operator/client/object.h"

#include <nlohmann/json.hpp>
#include <utility>

namespace podcache::kube {
namespace {

const nlohmann::json& Null() {
  static const nlohmann::json null;
  return null;
}

const nlohmann::json& Member(const nlohmann::json& value, std::string_view key) {
  if (!value.is_object()) return Null();
  const auto found = value.find(key);
  return found == value.end() ? Null() : *found;
}

std::string_view Text(const nlohmann::json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  return text == nullptr ? std::string_view() : std::string_view(*text);
}

std::optional<std::string_view> OptionalText(const nlohmann::json& value) {
  const auto* text = value.get_ptr<const std::string*>();
  if (text == nullptr) return std::nullopt;
  return *text;
}

std::map<std::string, std::string> TextMap(const nlohmann::json& value) {
  std::map<std::string, std::string> result;
  if (!value.is_object()) return result;
  for (const auto& [key, entry] : value.items()) {
    if (entry.is_string()) result.emplace(key, entry.get_ref<const std::string&>());
  }
  return result;
}

}  // namespace

Object::Object() : value_(std::make_unique<nlohmann::json>(nlohmann::json::object())) {}
Object::Object(nlohmann::json value) : value_(std::make_unique<nlohmann::json>(std::move(value))) {}
Object::Object(const Object& other) : value_(std::make_unique<nlohmann::json>(*other.value_)) {}
Object::Object(Object&& other) noexcept = default;
Object& Object::operator=(const Object& other) {
  if (this != &other) value_ = std::make_unique<nlohmann::json>(*other.value_);
  return *this;
}
Object& Object::operator=(Object&& other) noexcept = default;
Object::~Object() = default;

absl::StatusOr<Object> Object::Parse(std::string_view text) {
  nlohmann::json value = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (value.is_discarded()) return InvalidArgument("not valid JSON");
  if (!value.is_object()) return InvalidArgument("not a JSON object");
  Object object(std::move(value));
  object.StripManagedFields();
  return object;
}

void Object::StripManagedFields() {
  const auto metadata = value_->find("metadata");
  if (metadata != value_->end() && metadata->is_object()) metadata->erase("managedFields");
}

std::string Object::Dump() const {
  return value_->dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

const nlohmann::json& Object::At(std::initializer_list<std::string_view> path) const {
  const nlohmann::json* value = value_.get();
  for (const std::string_view step : path) value = &Member(*value, step);
  return *value;
}

std::string_view Object::TextAt(std::initializer_list<std::string_view> path) const {
  return Text(At(path));
}

std::string_view Object::api_version() const { return TextAt({"apiVersion"}); }
std::string_view Object::kind() const { return TextAt({"kind"}); }
std::string_view Object::name() const { return TextAt({"metadata", "name"}); }
std::string_view Object::ns() const { return TextAt({"metadata", "namespace"}); }
std::string_view Object::uid() const { return TextAt({"metadata", "uid"}); }
std::string_view Object::resource_version() const {
  return TextAt({"metadata", "resourceVersion"});
}
std::string_view Object::creation_timestamp() const {
  return TextAt({"metadata", "creationTimestamp"});
}
bool Object::being_deleted() const { return !TextAt({"metadata", "deletionTimestamp"}).empty(); }

std::int64_t Object::generation() const {
  const nlohmann::json& value = At({"metadata", "generation"});
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}

NamespacedName Object::key() const { return {std::string(ns()), std::string(name())}; }

std::optional<std::string_view> Object::label(std::string_view key) const {
  return OptionalText(At({"metadata", "labels", key}));
}
std::optional<std::string_view> Object::annotation(std::string_view key) const {
  return OptionalText(At({"metadata", "annotations", key}));
}
std::map<std::string, std::string> Object::labels() const {
  return TextMap(At({"metadata", "labels"}));
}
std::map<std::string, std::string> Object::annotations() const {
  return TextMap(At({"metadata", "annotations"}));
}

std::optional<OwnerReference> Object::controller() const {
  const nlohmann::json& owners = At({"metadata", "ownerReferences"});
  if (!owners.is_array()) return std::nullopt;
  for (const nlohmann::json& owner : owners) {
    const nlohmann::json& is_controller = Member(owner, "controller");
    if (!is_controller.is_boolean() || !is_controller.get<bool>()) continue;
    return OwnerReference{.api_version = std::string(Text(Member(owner, "apiVersion"))),
                          .kind = std::string(Text(Member(owner, "kind"))),
                          .name = std::string(Text(Member(owner, "name"))),
                          .uid = std::string(Text(Member(owner, "uid")))};
  }
  return std::nullopt;
}

}  // namespace podcache::kube
