// From a cursor into a struct's field, plain or std::optional, and the way back. For the generated
// sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/api/v1alpha1/json_cursor.h"

namespace podcache::control {

template <typename T>
struct FieldValue {
  using Type = T;
};
template <typename T>
struct FieldValue<std::optional<T>> {
  using Type = T;
};

template <typename Field>
void ReadBool(const JsonCursor& json, Field& out) {
  if (const auto value = json.Bool()) out = *value;
}

template <typename Field>
void ReadInteger(const JsonCursor& json, std::int64_t min, std::int64_t max, Field& out) {
  if (const auto value = json.Integer(min, max)) {
    out = static_cast<typename FieldValue<Field>::Type>(*value);
  }
}

inline void ReadString(const JsonCursor& json, std::size_t max_length, std::string& out) {
  if (auto value = json.String(max_length)) out = *std::move(value);
}

template <typename Field>
void ReadBytes(const JsonCursor& json, Field& out) {
  if (const auto value = json.Bytes()) out = *value;
}

template <typename Field>
void ReadMilli(const JsonCursor& json, Field& out) {
  if (const auto value = json.Milli()) out = *value;
}

template <typename Field>
void ReadDuration(const JsonCursor& json, Field& out) {
  if (const auto value = json.Duration()) out = *value;
}

template <typename Field>
void ReadEnum(const JsonCursor& json, Field& out) {
  constexpr std::size_t kLongest = 64;
  const auto text = json.String(kLongest);
  if (!text) return;
  typename FieldValue<Field>::Type value{};
  if (FromString(*text, value)) {
    out = value;
  } else {
    json.Report("has no value " + *text);
  }
}

template <typename T>
void ReadOptional(const JsonCursor& json, std::optional<T>& out) {
  if (json.present()) Read(json, out.emplace());
}

template <typename T>
void ReadList(const JsonCursor& json, std::size_t max_items, std::vector<T>& out) {
  const std::size_t count = json.ListSize(max_items);
  for (std::size_t i = 0; i < count; ++i) Read(json.Element(i), out.emplace_back());
}

inline void ReadStringList(const JsonCursor& json, std::size_t max_items, std::size_t max_length,
                           std::vector<std::string>& out) {
  const std::size_t count = json.ListSize(max_items);
  for (std::size_t i = 0; i < count; ++i)
    ReadString(json.Element(i), max_length, out.emplace_back());
}

// A list of words of which only some are known.
inline void ReadWordList(const JsonCursor& json, std::size_t max_items,
                         std::initializer_list<std::string_view> known,
                         std::vector<std::string>& out) {
  constexpr std::size_t kLongest = 64;
  const std::size_t count = json.ListSize(max_items);
  for (std::size_t i = 0; i < count; ++i) {
    auto word = json.Element(i).String(kLongest);
    if (!word) continue;
    if (std::find(known.begin(), known.end(), *word) == known.end()) {
      json.Element(i).Report("has no value " + *word);
    } else {
      out.push_back(*std::move(word));
    }
  }
}

inline void ReadStringMap(const JsonCursor& json, std::size_t max_members, std::size_t max_length,
                          std::map<std::string, std::string>& out) {
  json.ForEachMember(max_members, [&](const std::string& key, const JsonCursor& member) {
    ReadString(member, max_length, out[key]);
  });
}

}  // namespace podcache::control
