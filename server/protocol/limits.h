// Bounds of the text protocol (protocol.md 1) and of the numbers in it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace podcache::protocol {

inline constexpr std::size_t kMaxKeyBytes = 250;
// A longer line, its end not counted, closes the connection, unless it is a retrieval line.
inline constexpr std::size_t kMaxLineBytes = 2048;
// A line that is no longer, with its end, counts as blank.
inline constexpr std::size_t kMaxBlankBytes = 3;
// Spaces before a retrieval command that still let its line be of any length.
inline constexpr std::size_t kMaxLeadingSpaces = 100;
// Above this a data block's length counts as unreadable: nothing is swallowed.
inline constexpr std::uint64_t kMaxDataBytes = (1ULL << 31) - 3;
// Words of a meta request: the command, the key, the length of ms, the flags.
inline constexpr std::size_t kMaxMetaTokens = 20;
inline constexpr std::size_t kMaxOpaqueBytes = 31;
// Digits and sign, leading zeros included, that memcached 1.6.45 reads as a number.
inline constexpr std::size_t kMaxNumber32Bytes = 11;
inline constexpr std::size_t kMaxNumber64Bytes = 22;

}  // namespace podcache::protocol
