// Reading small configuration files. Internal to client/.
#pragma once

#include <cstddef>
#include <string>

#include "common/status/status.h"

namespace podcache::kube {

inline constexpr std::size_t kMaxConfigFileBytes = std::size_t{4} << 20;

// The whole file; an error names the path.
absl::StatusOr<std::string> ReadSmallFile(const std::string& path);
// Without white space at either end.
std::string Trimmed(std::string text);

}  // namespace podcache::kube
