// The names of an enum's values in JSON, as a table beside the enum. For the generated sources.
#pragma once

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <string_view>

namespace podcache::control {

template <typename E>
struct EnumName {
  E value;
  std::string_view name;
};

// Empty for a value outside the enum.
template <typename E, std::size_t kCount>
std::string_view NameOf(const EnumName<E> (&names)[kCount], E value) {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [&](const EnumName<E>& entry) { return entry.value == value; });
  return found == std::end(names) ? std::string_view() : found->name;
}

// False, and `value` unchanged, for a name that is not in the table.
template <typename E, std::size_t kCount>
bool ValueOf(const EnumName<E> (&names)[kCount], std::string_view name, E& value) {
  const auto* found = std::find_if(std::begin(names), std::end(names),
                                   [&](const EnumName<E>& entry) { return entry.name == name; });
  if (found == std::end(names)) return false;
  value = found->value;
  return true;
}

}  // namespace podcache::control
