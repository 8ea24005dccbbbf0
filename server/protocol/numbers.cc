#include "server/protocol/numbers.h"

#include <charconv>
#include <cmath>
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

// What C's strtol and isspace take for white space, but for the space, which ends a token.
constexpr std::string_view kBlanks("\t\n\v\f\r", 5);
constexpr std::string_view kBlanksAndZero("\t\n\v\f\r\0", 6);

// A token as memcached's lenient way sees it: what of it is read as a number, and what of that are
// digits. White space in front is skipped, and white space or a zero byte ends the number whatever
// comes behind. White space and no number at all is 0.
struct LenientNumber {
  explicit LenientNumber(std::string_view token) noexcept {
    const std::size_t start = token.find_first_not_of(kBlanks);
    if (start == std::string_view::npos) {
      blank = !token.empty();
      return;
    }
    token.remove_prefix(start);
    digits = token.substr(0, token.find_first_of(kBlanksAndZero));
    negative = digits.starts_with('-');
    if (negative || digits.starts_with('+')) digits.remove_prefix(1);
    const bool number = !digits.empty() && digits[0] >= '0' && digits[0] <= '9';
    blank = start > 0 && !number;
    if (!number) digits = {};
  }

  std::string_view digits;  // Empty: no number.
  bool negative = false;
  bool blank = false;  // Read as 0.
};

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

bool ParseDecimal(std::string_view token, double& out) noexcept {
  double number = 0;
  if (!ParseWhole(token, number) || !std::isfinite(number)) return false;
  out = number;
  return true;
}

bool ParseExptime(std::string_view token, std::int64_t& out) noexcept {
  const LenientNumber number(token);
  std::uint64_t magnitude = 0;
  if (!number.blank && !ParseWhole(number.digits, magnitude)) return false;
  // One more below zero than above.
  constexpr std::uint64_t kMax = std::numeric_limits<std::int64_t>::max();
  if (magnitude > kMax + (number.negative ? 1 : 0)) return false;
  out = static_cast<std::int64_t>(number.negative ? 0 - magnitude : magnitude);
  return true;
}

bool ParseClientFlags(std::string_view token, std::uint32_t& out) noexcept {
  const LenientNumber number(token);
  std::uint64_t flags = 0;
  if (!number.blank && !ParseWhole(number.digits, flags)) return false;
  if (number.negative && flags != 0) return false;
  out = static_cast<std::uint32_t>(flags & std::numeric_limits<std::uint32_t>::max());
  return true;
}

}  // namespace podcache::protocol
