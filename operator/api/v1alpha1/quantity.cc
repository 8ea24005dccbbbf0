#include "operator/api/v1alpha1/quantity.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <limits>

namespace podcache::control {

namespace {

__extension__ using Wide = unsigned __int128;

// Longer input cannot be a sensible quantity; the bound also keeps the arithmetic below within 128
// bits.
constexpr std::size_t kLongestText = 64;
constexpr std::size_t kMostDigits = 24;

// value × multiplier / divisor, where one of the two is 1 or both are small.
struct Suffix {
  std::string_view text;
  std::uint64_t multiplier;
  std::uint64_t divisor;
};

constexpr std::uint64_t kThousand = 1000;
constexpr std::uint64_t kMillion = kThousand * kThousand;
constexpr std::uint64_t kBillion = kMillion * kThousand;

constexpr std::array kSuffixes{
    Suffix{"", 1, 1},
    Suffix{"n", 1, kBillion},
    Suffix{"u", 1, kMillion},
    Suffix{"m", 1, kThousand},
    Suffix{"k", kThousand, 1},
    Suffix{"M", kMillion, 1},
    Suffix{"G", kBillion, 1},
    Suffix{"T", kBillion* kThousand, 1},
    Suffix{"P", kBillion* kMillion, 1},
    Suffix{"E", kBillion* kBillion, 1},
    Suffix{"Ki", 1ULL << 10, 1},
    Suffix{"Mi", 1ULL << 20, 1},
    Suffix{"Gi", 1ULL << 30, 1},
    Suffix{"Ti", 1ULL << 40, 1},
    Suffix{"Pi", 1ULL << 50, 1},
    Suffix{"Ei", 1ULL << 60, 1},
};

// A number as whole digits × 10^exponent, and what follows it.
struct Number {
  Wide digits = 0;
  int exponent = 0;
  std::string_view rest;
};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// [0-9]+(\.[0-9]*)? or \.[0-9]+, with trailing zeros of the fraction dropped so that they cost no
// digits.
std::optional<Number> ParseNumber(std::string_view text) {
  const auto integer_end = std::find_if_not(text.begin(), text.end(), IsDigit);
  std::string_view integer = text.substr(0, static_cast<std::size_t>(integer_end - text.begin()));
  std::string_view rest = text.substr(integer.size());
  std::string_view fraction;
  if (!rest.empty() && rest.front() == '.') {
    rest.remove_prefix(1);
    const auto end = std::find_if_not(rest.begin(), rest.end(), IsDigit);
    fraction = rest.substr(0, static_cast<std::size_t>(end - rest.begin()));
    rest.remove_prefix(fraction.size());
  }
  if (integer.empty() && fraction.empty()) return std::nullopt;
  while (!fraction.empty() && fraction.back() == '0') fraction.remove_suffix(1);
  while (!integer.empty() && integer.front() == '0') integer.remove_prefix(1);
  if (integer.size() + fraction.size() > kMostDigits) return std::nullopt;
  Number number{.exponent = -static_cast<int>(fraction.size()), .rest = rest};
  for (const std::string_view part : {integer, fraction}) {
    for (const char digit : part)
      number.digits = number.digits * 10 + static_cast<unsigned>(digit - '0');
  }
  return number;
}

// "e9", "E-3": a decimal exponent instead of a suffix. "E" alone is a suffix.
std::optional<int> ParseExponent(std::string_view text) {
  if (text.size() < 2 || (text.front() != 'e' && text.front() != 'E')) return std::nullopt;
  text.remove_prefix(1);
  if (text.front() == '+') text.remove_prefix(1);
  int exponent = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return exponent;
}

// ceil(digits × factor × 10^exponent / divisor), nothing if it does not fit.
std::optional<std::uint64_t> RoundUp(Wide digits, Wide factor, int exponent, Wide divisor) {
  constexpr Wide kMaxWide = ~Wide{0};
  if (digits == 0) return 0;
  if (digits > kMaxWide / factor) return std::nullopt;
  Wide value = digits * factor;
  bool inexact = value % divisor != 0;
  value /= divisor;
  for (; exponent > 0; --exponent) {
    // Exact only without a remainder; suffixes that divide and exponents are never given together.
    if (value > kMaxWide / 10) return std::nullopt;
    value *= 10;
  }
  for (; exponent < 0; ++exponent) {
    inexact = inexact || value % 10 != 0;
    value /= 10;
    if (value == 0) break;
  }
  if (inexact) ++value;
  if (value > std::numeric_limits<std::uint64_t>::max()) return std::nullopt;
  return static_cast<std::uint64_t>(value);
}

std::optional<std::uint64_t> ParseAny(std::string_view text, std::uint64_t scale) {
  if (text.size() > kLongestText) return std::nullopt;
  if (!text.empty() && text.front() == '+') text.remove_prefix(1);
  const auto number = ParseNumber(text);
  if (!number) return std::nullopt;
  const auto suffix = std::find_if(kSuffixes.begin(), kSuffixes.end(),
                                   [&](const Suffix& known) { return known.text == number->rest; });
  if (suffix != kSuffixes.end()) {
    const Wide factor = Wide{suffix->multiplier} * scale;
    return RoundUp(number->digits, factor, number->exponent, suffix->divisor);
  }
  const auto exponent = ParseExponent(number->rest);
  // Beyond this range the result is 1 at most, or does not fit.
  if (!exponent || *exponent < -60 || *exponent > 60) return std::nullopt;
  return RoundUp(number->digits, scale, number->exponent + *exponent, 1);
}

// ^[0-9]+(\.[0-9]+)?SUFFIX?$, at most 24 characters.
bool HasNarrowForm(std::string_view text, std::initializer_list<std::string_view> suffixes) {
  constexpr std::size_t kLongestField = 24;
  if (text.empty() || text.size() > kLongestField || !IsDigit(text.front())) return false;
  const std::size_t end = text.find_first_not_of("0123456789.");
  const std::string_view number = text.substr(0, end);
  if (std::count(number.begin(), number.end(), '.') > 1 || number.back() == '.') return false;
  if (end == std::string_view::npos) return true;
  return std::find(suffixes.begin(), suffixes.end(), text.substr(end)) != suffixes.end();
}

std::optional<std::uint64_t> InRange(std::optional<std::uint64_t> value, std::uint64_t largest) {
  return value && *value > 0 && *value <= largest ? value : std::nullopt;
}

}  // namespace

std::optional<std::uint64_t> ParseBytes(std::string_view text) {
  if (!HasNarrowForm(text, {"Ki", "Mi", "Gi", "Ti", "k", "M", "G", "T"})) return std::nullopt;
  return InRange(ParseAnyBytes(text), kLargestMemoryBytes);
}

std::optional<std::uint64_t> ParseMilli(std::string_view text) {
  if (!HasNarrowForm(text, {"m"})) return std::nullopt;
  return InRange(ParseAnyMilli(text), kLargestCpuMilli);
}

std::optional<std::uint64_t> ParseAnyBytes(std::string_view text) { return ParseAny(text, 1); }

std::optional<std::uint64_t> ParseAnyMilli(std::string_view text) {
  return ParseAny(text, kThousand);
}

std::string FormatBytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 7> kUnits{"", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"};
  std::size_t unit = 0;
  while (bytes != 0 && bytes % 1024 == 0 && unit + 1 < kUnits.size()) {
    bytes /= 1024;
    ++unit;
  }
  return std::to_string(bytes).append(kUnits[unit]);
}

std::string FormatMilli(std::uint64_t milli) {
  return milli % kThousand == 0 ? std::to_string(milli / kThousand) : std::to_string(milli) + "m";
}

}  // namespace podcache::control
