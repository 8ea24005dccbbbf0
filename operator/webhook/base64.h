// Base64 with padding, as JSON patches and Secrets carry it. Pure functions.
#pragma once

#include <string>
#include <string_view>

namespace podcache::control {

std::string EncodeBase64(std::string_view bytes);
// Empty for what is no base64.
std::string DecodeBase64(std::string_view text);

}  // namespace podcache::control
