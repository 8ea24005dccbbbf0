// Strict readers for values on the command line: the whole text must be the value.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace podcache::server {

struct Options;

// A decimal number between the bounds.
bool ReadInteger(std::string_view text, std::int64_t low, std::int64_t high, std::int64_t& value);
bool ReadDecimal(std::string_view text, double& value);
// A number with an optional k or m (1024, 1024²), as -I takes it.
bool ReadSize(std::string_view text, std::uint64_t& bytes);
// Up to 0777.
bool ReadOctalMode(std::string_view text, unsigned& mode);

// "\"abc\" is not a number between 1 and 5".
std::string NotANumber(std::string_view text, std::int64_t low, std::int64_t high);

// Setters of rows for what memcached has and this server does not: yet, or on purpose.
bool Later(Options& options, const std::string& text, std::string& error);
bool Never(Options& options, const std::string& text, std::string& error);

}  // namespace podcache::server
