// The transcripts of this folder in C++ (format: README.md), for tests that need no socket.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::transcript {

enum class LineKind : std::uint8_t { kSend, kExpect, kExpectMatch, kCut, kWait, kClosed };

struct Line {
  LineKind kind;
  // kSend, kExpect: may hold "$1", otherwise as written, to be expanded with Expand. kWait:
  // milliseconds.
  std::string text;
};

struct Case {
  std::string title;  // With file and line.
  std::vector<Line> lines;
};

// All cases of one file. Aborts with a message on a line it does not know: the files are part of
// the tests.
std::vector<Case> ReadFile(const std::filesystem::path& file);
std::vector<std::filesystem::path> AllFiles(const std::filesystem::path& folder);

// Whether the whole of `line` matches the regular expression; `group` gets its first group, if it
// has one.
bool Matches(const std::string& line, const std::string& expression, std::string& group);

// Escapes, repetitions and $1 replaced.
std::string Expand(std::string_view text, std::string_view group);

}  // namespace podcache::transcript
