// The API group of all our kinds.
#pragma once

#include <string_view>

namespace podcache::control {

inline constexpr std::string_view kGroup = "podcache.dev";
inline constexpr std::string_view kVersion = "v1alpha1";
inline constexpr std::string_view kApiVersion = "podcache.dev/v1alpha1";

}  // namespace podcache::control
