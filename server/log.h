// Lines for people on standard error. Never from the path of a request.
//
// Threads: any.
#pragma once

#include <string_view>

namespace podcache::server {

// "podcached: <text>". Information is printed from -v on, warnings and errors always.
void SetVerbosity(int level) noexcept;
void LogInfo(std::string_view text);
void LogWarning(std::string_view text);
void LogError(std::string_view text);

}  // namespace podcache::server
