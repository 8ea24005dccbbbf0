#include "operator/api/v1alpha1/json_cursor.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "operator/api/v1alpha1/duration.h"
#include "operator/api/v1alpha1/quantity.h"

namespace podcache::control {

JsonCursor::JsonCursor(const nlohmann::json& root, FieldErrors* errors)
    : JsonCursor(&root, "", errors) {}

JsonCursor::JsonCursor(const nlohmann::json* value, std::string path, FieldErrors* errors)
    : value_(value), path_(std::move(path)), errors_(errors) {
  if (value_ != nullptr && value_->is_null()) value_ = nullptr;
}

void JsonCursor::Report(std::string message) const {
  FieldError error{path_.empty() ? "object" : path_, std::move(message)};
  // Each member looked up in what is no object says so again.
  if (!errors_->empty() && errors_->back() == error) return;
  errors_->push_back(std::move(error));
}

JsonCursor JsonCursor::At(std::string_view key) const {
  std::string path = path_.empty() ? std::string(key) : path_ + "." + std::string(key);
  if (value_ == nullptr) return {nullptr, std::move(path), errors_};
  if (!value_->is_object()) {
    Report("must be an object");
    return {nullptr, std::move(path), errors_};
  }
  const auto found = value_->find(key);
  return {found == value_->end() ? nullptr : &*found, std::move(path), errors_};
}

JsonCursor JsonCursor::Require(std::string_view key) const {
  JsonCursor member = At(key);
  // Of an absent parent only the parent itself is reported.
  if (!member.present() && value_ != nullptr && value_->is_object()) member.Report("is required");
  return member;
}

std::optional<bool> JsonCursor::Bool() const {
  if (value_ == nullptr) return std::nullopt;
  if (value_->is_boolean()) return value_->get<bool>();
  Report("must be true or false");
  return std::nullopt;
}

std::optional<std::int64_t> JsonCursor::Integer(std::int64_t min, std::int64_t max) const {
  if (value_ == nullptr) return std::nullopt;
  const bool fits = value_->is_number_unsigned()
                        ? std::in_range<std::int64_t>(value_->get<std::uint64_t>())
                        : value_->is_number_integer();
  if (fits) {
    const auto value = value_->get<std::int64_t>();
    if (value >= min && value <= max) return value;
  }
  Report("must be a whole number from " + std::to_string(min) + " to " + std::to_string(max));
  return std::nullopt;
}

std::optional<std::string> JsonCursor::String(std::size_t max_length) const {
  if (value_ == nullptr) return std::nullopt;
  if (!value_->is_string()) {
    Report("must be a string; quote a number");
    return std::nullopt;
  }
  const auto& text = value_->get_ref<const std::string&>();
  // The API server counts characters, this counts bytes: UTF-8 has at most four a character.
  if (text.size() <= 4 * max_length) return text;
  Report("must have at most " + std::to_string(max_length) + " characters");
  return std::nullopt;
}

std::optional<std::uint64_t> JsonCursor::Bytes() const {
  constexpr std::size_t kLongest = 24;
  const auto text = String(kLongest);
  if (!text) return std::nullopt;
  const auto bytes = ParseBytes(*text);
  if (!bytes)
    Report("must be an amount of memory such as 256Mi or 1.5Gi, above 0 and at most 64Ti");
  return bytes;
}

std::optional<std::uint64_t> JsonCursor::Milli() const {
  constexpr std::size_t kLongest = 24;
  const auto text = String(kLongest);
  if (!text) return std::nullopt;
  const auto milli = ParseMilli(*text);
  if (!milli) Report("must be an amount of CPU such as 2 or 250m, above 0 and at most 1024");
  return milli;
}

std::optional<std::chrono::milliseconds> JsonCursor::Duration() const {
  constexpr std::size_t kLongest = 16;
  const auto text = String(kLongest);
  if (!text) return std::nullopt;
  const auto duration = ParseDuration(*text);
  if (!duration) Report("must be a duration such as 5m or 1h30m, above 0 and at most 24h");
  return duration;
}

std::size_t JsonCursor::ListSize(std::size_t max_items) const {
  if (value_ == nullptr) return 0;
  if (value_->is_array() && value_->size() <= max_items) return value_->size();
  Report("must be a list of at most " + std::to_string(max_items) + " entries");
  return 0;
}

JsonCursor JsonCursor::Element(std::size_t index) const {
  return {&(*value_)[index], path_ + "[" + std::to_string(index) + "]", errors_};
}

std::vector<std::string> JsonCursor::MemberKeys(std::size_t max_members) const {
  std::vector<std::string> keys;
  if (value_ == nullptr) return keys;
  if (!value_->is_object() || value_->size() > max_members) {
    Report("must be an object of at most " + std::to_string(max_members) + " members");
    return keys;
  }
  for (const auto& [key, unused] : value_->items()) keys.push_back(key);
  return keys;
}

}  // namespace podcache::control
