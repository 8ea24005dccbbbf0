#include "server/protocol/numbers.h"

#include <charconv>
#include <limits>
#include <system_error>

#include "server/protocol/limits.h"

namespace podcache::protocol {

namespace {

// The whole token as a number; from_chars takes a minus for signed types and nothing else but
// digits.
template <class Number>
bool ParseWhole(std::string_view token, Number& out) noexcept {
  Number number = 0;
  const char* const end = token.data() + token.size();
  const auto [parsed, error] = std::from_chars(token.data(), end, number);
  if (error != std::errc() || parsed != end) return false;
  out = number;
  return true;
}

}  // namespace

bool ParseUnsigned64(std::string_view token, std::uint64_t& out) noexcept {
  return token.size() <= kMaxNumber64Bytes && ParseWhole(token, out);
}

bool ParseUnsigned32(std::string_view token, std::uint32_t& out) noexcept {
  return token.size() <= kMaxNumber32Bytes && ParseWhole(token, out);
}

bool ParseSigned32(std::string_view token, std::int32_t& out) noexcept {
  return token.size() <= kMaxNumber32Bytes && ParseWhole(token, out);
}

bool ParseExptime(std::string_view token, std::int64_t& out) noexcept {
  if (token.size() > 1 && token[0] == '+' && token[1] != '-') token.remove_prefix(1);
  return ParseWhole(token, out);
}

bool ParseClientFlags(std::string_view token, std::uint32_t& out) noexcept {
  const bool negative = token.size() > 1 && token[0] == '-';
  if (negative || (token.size() > 1 && token[0] == '+')) token.remove_prefix(1);
  std::uint64_t number = 0;
  if (!ParseWhole(token, number) || (negative && number != 0)) return false;
  out = static_cast<std::uint32_t>(number & std::numeric_limits<std::uint32_t>::max());
  return true;
}

}  // namespace podcache::protocol
