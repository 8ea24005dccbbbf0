// Decimal numbers as memcached 1.6.45 reads them: it has two ways, and clients can tell them apart.
//
// Each returns false and leaves `out` alone when the token is no number of that kind.
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::protocol {

// Strict: digits only; at most kMaxNumber64Bytes of them. cas uniques and deltas.
bool ParseUnsigned64(std::string_view token, std::uint64_t& out) noexcept;
// Strict: digits only, at most kMaxNumber32Bytes. verbosity, cache_memlimit.
bool ParseUnsigned32(std::string_view token, std::uint32_t& out) noexcept;
// Strict: an optional minus and digits, together at most kMaxNumber32Bytes. Lengths, exptimes
// outside storage commands.
bool ParseSigned32(std::string_view token, std::int32_t& out) noexcept;
// A whole number or one with a decimal point or an exponent; finite. Ratios and factors.
bool ParseDecimal(std::string_view token, double& out) noexcept;
// Lenient, for storage commands: also a leading plus, any number of leading zeros, white space in
// front, and anything behind a white space or zero byte; white space alone is 0.
bool ParseExptime(std::string_view token, std::int64_t& out) noexcept;
// Lenient. Client flags are the low 32 bits of an unsigned 64-bit number.
bool ParseClientFlags(std::string_view token, std::uint32_t& out) noexcept;

}  // namespace podcache::protocol
