// Kubernetes quantities as exact numbers: bytes and thousandths of a CPU in std::uint64_t. Pure
// functions.
//
// Two grammars. The API's own fields take the narrow one of our CRDs (no sign, no exponent, Ki Mi
// Gi Ti k M G T); objects of others, such as a pod's resources, may hold anything that Kubernetes
// allows. Both are exact: no floating point, fractions of the unit are rounded up, as Kubernetes
// does. Source: the CRD patterns and k8s.io/apimachinery's quantity grammar.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace podcache::control {

// The upper end of every memory field, and of every CPU field.
inline constexpr std::uint64_t kLargestMemoryBytes = 64ULL << 40;
inline constexpr std::uint64_t kLargestCpuMilli = 1024 * 1000;

// A memory field of our API: "1.5Gi", "1073741824", "1500M". Nothing for another form, for 0 and
// above 64Ti.
std::optional<std::uint64_t> ParseBytes(std::string_view text);

// A CPU field of our API: "2", "0.5", "250m". Nothing for another form, for 0 and above 1024.
std::optional<std::uint64_t> ParseMilli(std::string_view text);

// Any quantity of Kubernetes that is not negative, as in a pod's resources: also "1e9",
// "128974848000m", "2Ei", "0". Nothing for what is no quantity or does not fit the result.
std::optional<std::uint64_t> ParseAnyBytes(std::string_view text);
std::optional<std::uint64_t> ParseAnyMilli(std::string_view text);

// The canonical form: the largest binary suffix that keeps it a whole number ("1536Mi"), else plain
// digits.
std::string FormatBytes(std::uint64_t bytes);

// Whole CPUs without suffix ("2"), else with m ("250m").
std::string FormatMilli(std::uint64_t milli);

}  // namespace podcache::control
