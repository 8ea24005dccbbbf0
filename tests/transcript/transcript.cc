#include "tests/transcript/transcript.h"

#include <regex.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <optional>

#include "common/base/check.h"

namespace podcache::transcript {

namespace {

std::optional<LineKind> KindOf(std::string_view word) {
  if (word == ">" || word == ">>") return LineKind::kSend;
  if (word == ">p") return LineKind::kSendPacket;
  if (word == "<") return LineKind::kExpect;
  if (word == "<~") return LineKind::kExpectMatch;
  if (word == "<p") return LineKind::kExpectPacket;
  if (word == "connect") return LineKind::kConnect;
  if (word == "<~n") return LineKind::kExpectMatchBare;
  if (word == "cut") return LineKind::kCut;
  if (word == "wait") return LineKind::kWait;
  if (word == "closed") return LineKind::kClosed;
  return std::nullopt;
}

char Escaped(char letter) {
  switch (letter) {
    case 'r':
      return '\r';
    case 'n':
      return '\n';
    case '0':
      return '\0';
    default:
      return letter;
  }
}

void Add(const std::string& raw, const std::string& place, std::vector<Case>& cases) {
  if (raw.empty() || raw.starts_with('#')) return;
  const std::string word = raw.substr(0, raw.find(' '));
  std::string text = word.size() == raw.size() ? "" : raw.substr(word.size() + 1);
  if (word == "case") {
    cases.push_back({place + " " + text, {}});
    return;
  }
  if (word == "whole" && !cases.empty()) {
    cases.back().whole = true;
    return;
  }
  if (word == "differs") return;  // Of memcached only.
  const std::optional<LineKind> kind = KindOf(word);
  if (!kind || cases.empty()) {
    std::cerr << place << ": unknown line: " << raw << "\n";
    std::abort();
  }
  if (word == ">") text += "\\r\\n";
  cases.back().lines.push_back({*kind, text});
}

}  // namespace

std::vector<Case> ReadFile(const std::filesystem::path& file) {
  std::ifstream stream(file);
  PODCACHE_CHECK(stream.good());
  std::vector<Case> cases;
  std::string raw;
  for (int number = 1; std::getline(stream, raw); ++number) {
    Add(raw, file.filename().string() + ":" + std::to_string(number), cases);
  }
  return cases;
}

std::vector<std::filesystem::path> AllFiles(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".transcript") files.push_back(entry.path());
  }
  std::ranges::sort(files);
  PODCACHE_CHECK(!files.empty());
  return files;
}

bool Matches(const std::string& line, const std::string& expression, std::string& group) {
  std::string extended = expression;
  for (std::size_t at = 0; (at = extended.find("\\d", at)) != std::string::npos;) {
    extended.replace(at, 2, "[0-9]");
  }
  regex_t compiled;
  PODCACHE_CHECK(regcomp(&compiled, ("^" + extended + "$").c_str(), REG_EXTENDED) == 0);
  std::array<regmatch_t, 2> found;
  const bool matches = regexec(&compiled, line.c_str(), found.size(), found.data(), 0) == 0;
  if (matches && compiled.re_nsub > 0) {
    const auto start = static_cast<std::size_t>(found[1].rm_so);
    group = line.substr(start, static_cast<std::size_t>(found[1].rm_eo) - start);
  }
  regfree(&compiled);
  return matches;
}

std::string Expand(std::string_view text, std::string_view group) {
  std::string out;
  while (!text.empty()) {
    std::size_t used = 1;
    const std::size_t star = text.find('*');
    const std::size_t brace = text.find('}');
    if (text.starts_with("$1")) {
      out += group;
      used = 2;
    } else if (text.starts_with("\\x")) {
      unsigned byte = 0;
      std::from_chars(text.data() + 2, text.data() + 4, byte, 16);
      out += static_cast<char>(byte);
      used = 4;
    } else if (text[0] == '\\') {
      out += Escaped(text[1]);
      used = 2;
    } else if (text[0] == '{' && star < brace && brace != std::string_view::npos) {
      unsigned count = 0;
      std::from_chars(text.data() + star + 1, text.data() + brace, count);
      for (unsigned i = 0; i < count; ++i) out += text.substr(1, star - 1);
      used = brace + 1;
    } else {
      out += text[0];
    }
    text.remove_prefix(used);
  }
  return out;
}

}  // namespace podcache::transcript
