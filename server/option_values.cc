#include "server/option_values.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace podcache::server {

namespace {

template <class Number, class... Base>
bool ReadAll(std::string_view text, Number& value, Base... base) {
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value, base...);
  return error == std::errc() && stop == end && !text.empty();
}

}  // namespace

bool ReadInteger(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& value) {
  std::int64_t read = 0;
  if (!ReadAll(text, read) || read < low || read > high) return false;
  value = read;
  return true;
}

bool ReadDecimal(std::string_view text, double& value) {
  return ReadAll(text, value) && std::isfinite(value);
}

bool ReadSize(std::string_view text, std::uint64_t& bytes) {
  unsigned shift = 0;
  if (!text.empty()) {
    const char unit = text.back();
    if (unit == 'k' || unit == 'K') shift = 10;
    if (unit == 'm' || unit == 'M') shift = 20;
  }
  if (shift > 0) text.remove_suffix(1);
  std::uint64_t number = 0;
  if (!ReadAll(text, number) || number > (std::numeric_limits<std::uint64_t>::max() >> shift)) {
    return false;
  }
  bytes = number << shift;
  return true;
}

bool ReadOctalMode(std::string_view text, unsigned& mode) {
  unsigned read = 0;
  if (!ReadAll(text, read, 8) || read > 0777) return false;
  mode = read;
  return true;
}

std::string NotANumber(std::string_view text, std::int64_t low, std::int64_t high) {
  std::string message = "\"" + std::string(text) + "\" is not a number ";
  if (high == std::numeric_limits<std::int64_t>::max())
    return message + "of at least " + std::to_string(low);
  return message + "between " + std::to_string(low) + " and " + std::to_string(high);
}

bool Later(Options&, const std::string&, std::string& error) {
  error = "not supported by this release";
  return false;
}

bool Never(Options&, const std::string&, std::string& error) {
  error = "not part of Podcache";
  return false;
}

}  // namespace podcache::server
