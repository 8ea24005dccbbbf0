// Searching and splitting lines without a branch per character.
//
// Threads: any. Views returned refer to the argument.
#pragma once

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace podcache::protocol {

// Position of the first space or newline, or npos. Tokens are short: sixteen or eight bytes at a
// time, no call.
inline std::size_t FindSeparator(std::string_view text) noexcept {
  static_assert(std::endian::native == std::endian::little, "the lowest set bit is the first byte");
  constexpr std::uint64_t kOnes = 0x0101010101010101ULL;
  constexpr std::uint64_t kHighs = 0x8080808080808080ULL;
  const auto zero_bytes = [](std::uint64_t word) { return (word - kOnes) & ~word & kHighs; };
  std::size_t at = 0;
#if defined(__SSE2__)
  const __m128i space = _mm_set1_epi8(' ');
  const __m128i newline = _mm_set1_epi8('\n');
  for (; at + sizeof(__m128i) <= text.size(); at += sizeof(__m128i)) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(text.data() + at));
    const __m128i found =
        _mm_or_si128(_mm_cmpeq_epi8(bytes, space), _mm_cmpeq_epi8(bytes, newline));
    const auto marks = static_cast<unsigned>(_mm_movemask_epi8(found));
    if (marks != 0) return at + static_cast<std::size_t>(std::countr_zero(marks));
  }
#endif
  for (; at + sizeof(std::uint64_t) <= text.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word;
    std::memcpy(&word, text.data() + at, sizeof word);
    // The lowest mark of each is exact; marks above it may be false, and are not looked at.
    const std::uint64_t marks =
        zero_bytes(word ^ (kOnes * ' ')) | zero_bytes(word ^ (kOnes * '\n'));
    if (marks != 0) return at + static_cast<std::size_t>(std::countr_zero(marks)) / 8;
  }
  for (; at < text.size(); ++at) {
    if (text[at] == ' ' || text[at] == '\n') return at;
  }
  return std::string_view::npos;
}

// Position of the first newline, or npos.
inline std::size_t FindNewline(std::string_view text) noexcept {
  if (text.empty()) return std::string_view::npos;
  const void* const found = std::memchr(text.data(), '\n', text.size());
  return found == nullptr ? std::string_view::npos
                          : static_cast<std::size_t>(static_cast<const char*>(found) - text.data());
}

inline std::size_t CountLeadingSpaces(std::string_view text) noexcept {
  std::size_t count = 0;
  while (count < text.size() && text[count] == ' ') ++count;
  return count;
}

// Takes the next token off a line without its newline; empty when there is none.
inline std::string_view TakeToken(std::string_view& line) noexcept {
  line.remove_prefix(CountLeadingSpaces(line));
  const std::size_t end = line.find(' ');
  const std::string_view token = line.substr(0, end);
  line.remove_prefix(token.size());
  return token;
}

// Whether a token stands for this word: memcached takes the first letters of the words behind a
// command, as many as there are (stats se, lru_crawler e), and of several words the first that
// fits.
constexpr bool StandsFor(std::string_view token, std::string_view word) noexcept {
  return !token.empty() && word.starts_with(token);
}

inline std::string_view TrimTrailingSpaces(std::string_view text) noexcept {
  const std::size_t last = text.find_last_not_of(' ');
  return last == std::string_view::npos ? std::string_view() : text.substr(0, last + 1);
}

inline std::string_view LastToken(std::string_view line) noexcept {
  line = TrimTrailingSpaces(line);
  const std::size_t space = line.rfind(' ');
  return space == std::string_view::npos ? line : line.substr(space + 1);
}

}  // namespace podcache::protocol
