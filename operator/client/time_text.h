// Times of the Kubernetes API as text, in UTC. Pure functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podcache::kube {

// "2026-11-30T10:00:00Z".
std::string FormatTime(std::int64_t unix_seconds);
// "2026-11-30T10:00:00.000000Z", as events.k8s.io wants it.
std::string FormatMicroTime(std::chrono::nanoseconds since_epoch);
// Fractions of a second are dropped; nothing for another form.
std::optional<std::int64_t> ParseTime(std::string_view text);

}  // namespace podcache::kube
