// The transcripts of this folder in C++ (format: README.md), for tests that need no socket.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::transcript {

enum class LineKind : std::uint8_t {
  kSend,
  kSendPacket,
  kExpect,
  kExpectMatch,
  kExpectMatchBare,
  kExpectPacket,
  kConnect,
  kCut,
  kWait,
  kClosed,
};

struct Line {
  LineKind kind;
  // kSend, kExpect: may hold "$1", otherwise as written, to be expanded with Expand. Packets: as
  // written, for EncodePacket and PacketFits. kWait: milliseconds.
  std::string text;
};

struct Case {
  std::string title;  // With file and line.
  std::vector<Line> lines;
  // The answers depend on what one read holds: not to be cut elsewhere.
  bool whole = false;
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

// The request a packet line stands for.
std::string EncodePacket(std::string_view text, std::string_view group);
// The length of the reply at the start of `bytes`; 0 as long as that is not known.
std::size_t PacketBytes(std::string_view bytes);
// Whether the reply is the one the line describes; `group` gets what "cas=*" stood for.
bool PacketFits(std::string_view reply, std::string_view text, std::string& group);

}  // namespace podcache::transcript
