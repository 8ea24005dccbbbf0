// Base64 with padding (RFC 4648, section 4), for keys that are no words.
//
// Threads: any.
#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace podcache::protocol {

constexpr std::size_t Base64Bytes(std::size_t bytes) noexcept { return (bytes + 2) / 3 * 4; }

// Writes at most text.size() / 4 * 3 bytes to `to` and returns how many; nothing if the text is
// empty or no base64. Bits behind the last byte are ignored.
std::optional<std::size_t> DecodeBase64(std::string_view text, char* to) noexcept;
// Writes Base64Bytes(bytes.size()) letters to `to`; returns their end.
char* EncodeBase64(std::string_view bytes, char* to) noexcept;

}  // namespace podcache::protocol
