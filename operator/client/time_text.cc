#include "operator/client/time_text.h"

#include <fmt/format.h>

#include <ctime>

namespace podcache::kube {

std::string FormatTime(std::int64_t unix_seconds) {
  const auto time = static_cast<std::time_t>(unix_seconds);
  std::tm parts{};
  gmtime_r(&time, &parts);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string FormatMicroTime(std::chrono::nanoseconds since_epoch) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(since_epoch);
  const auto micros =
      std::chrono::duration_cast<std::chrono::microseconds>(since_epoch - seconds).count();
  std::string text = FormatTime(seconds.count());
  text.insert(text.size() - 1, fmt::format(".{:06}", micros));
  return text;
}

std::optional<std::int64_t> ParseTime(std::string_view text) {
  std::tm parts{};
  const std::string copy(text);
  const char* end = strptime(copy.c_str(), "%Y-%m-%dT%H:%M:%S", &parts);
  if (end == nullptr || (*end != 'Z' && *end != '.') || copy.back() != 'Z') return std::nullopt;
  return timegm(&parts);
}

}  // namespace podcache::kube
