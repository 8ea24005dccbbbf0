#include "operator/api/v1alpha1/duration.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

namespace podcache::control {

namespace {

constexpr std::size_t kLongestText = 16;
constexpr std::uint64_t kLongestMs = 24ULL * 3600 * 1000;

struct Unit {
  std::string_view text;
  std::uint64_t ms;
};

// Largest first, as they are written.
constexpr std::array kUnits{Unit{"h", 3'600'000}, Unit{"m", 60'000}, Unit{"s", 1'000},
                            Unit{"ms", 1}};

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

std::string_view TakeDigits(std::string_view& text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const std::string_view digits = text.substr(0, static_cast<std::size_t>(end - text.begin()));
  text.remove_prefix(digits.size());
  return digits;
}

// At most 16 digits: no overflow.
std::uint64_t Value(std::string_view digits) {
  std::uint64_t value = 0;
  for (const char digit : digits) value = value * 10 + static_cast<unsigned>(digit - '0');
  return value;
}

// One part such as "1.5s"; nothing if the text does not start with one. Saturates well above the
// largest duration.
std::optional<std::uint64_t> TakePart(std::string_view& text) {
  const std::string_view whole = TakeDigits(text);
  std::string_view fraction;
  if (!whole.empty() && !text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    fraction = TakeDigits(text);
    if (fraction.empty()) return std::nullopt;
  }
  const std::size_t letters = std::min(text.find_first_of("0123456789."), text.size());
  const auto unit = std::find_if(kUnits.begin(), kUnits.end(), [&](const Unit& known) {
    return known.text == text.substr(0, letters);
  });
  if (whole.empty() || unit == kUnits.end()) return std::nullopt;
  text.remove_prefix(letters);
  std::uint64_t power = 1;
  for (std::size_t i = 0; i < fraction.size(); ++i) power *= 10;
  const std::uint64_t whole_ms = std::min(Value(whole), kLongestMs + 1) * unit->ms;
  __extension__ using Wide = unsigned __int128;
  const auto part_ms =
      static_cast<std::uint64_t>((Wide{Value(fraction)} * unit->ms + power - 1) / power);
  return whole_ms + part_ms;
}

}  // namespace

std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text) {
  if (text.empty() || text.size() > kLongestText) return std::nullopt;
  std::uint64_t total_ms = 0;
  while (!text.empty()) {
    const auto part = TakePart(text);
    if (!part) return std::nullopt;
    total_ms += *part;
  }
  if (total_ms == 0 || total_ms > kLongestMs) return std::nullopt;
  return std::chrono::milliseconds(total_ms);
}

std::string FormatDuration(std::chrono::milliseconds duration) {
  std::string text;
  auto rest = static_cast<std::uint64_t>(std::max<std::int64_t>(duration.count(), 0));
  for (const Unit& unit : kUnits) {
    if (rest >= unit.ms) text.append(std::to_string(rest / unit.ms)).append(unit.text);
    rest %= unit.ms;
  }
  return text.empty() ? "0s" : text;
}

}  // namespace podcache::control
