// Durations of the API: "5m", "1h30m", "1.5s", "500ms", in milliseconds. Pure functions.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace podcache::control {

// Nothing for another form, for 0 and above 24h. A fraction of a millisecond is rounded up.
std::optional<std::chrono::milliseconds> ParseDuration(std::string_view text);

// "1h30m", "5m", "1s500ms"; "0s" for zero.
std::string FormatDuration(std::chrono::milliseconds duration);

}  // namespace podcache::control
