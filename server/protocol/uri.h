// Keys in lines of text where a space or a control character would break the line: every byte that
// is no letter, digit, '-', '.', '_' or '~' becomes % and two upper-case hexadecimal digits.
#pragma once

#include <cstddef>
#include <string_view>

namespace podcache::protocol {

// Room that `n` bytes may need.
constexpr std::size_t MaxUriBytes(std::size_t n) noexcept { return 3 * n; }
// Writes the bytes to `at`, where MaxUriBytes(bytes.size()) must be free; returns the end.
char* WriteUri(char* at, std::string_view bytes) noexcept;

}  // namespace podcache::protocol
