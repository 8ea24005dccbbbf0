// Numbers in network byte order, at any address.
#pragma once

#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>

namespace podcache {

namespace internal {
template <std::unsigned_integral T>
constexpr T ToOrFromBigEndian(T value) noexcept {
  if constexpr (std::endian::native == std::endian::big || sizeof(T) == 1) {
    return value;
  } else if constexpr (sizeof(T) == 2) {
    return __builtin_bswap16(value);
  } else if constexpr (sizeof(T) == 4) {
    return __builtin_bswap32(value);
  } else {
    return __builtin_bswap64(value);
  }
}
}  // namespace internal

template <std::unsigned_integral T>
T LoadBigEndian(const char* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return internal::ToOrFromBigEndian(value);
}

// Returns the end of what was written.
template <std::unsigned_integral T>
char* StoreBigEndian(char* at, T value) noexcept {
  value = internal::ToOrFromBigEndian(value);
  std::memcpy(at, &value, sizeof value);
  return at + sizeof value;
}

}  // namespace podcache
