#include "server/protocol/encoders.h"

#include <array>
#include <charconv>
#include <cstring>

#include "common/base/check.h"

namespace podcache::protocol {

namespace {

constexpr std::size_t kMaxDigits = 20;

constexpr std::size_t kReplies = static_cast<std::size_t>(Reply::kCount);
constexpr std::array<std::string_view, kReplies> kTexts = {
    "OK\r\n",
    "STORED\r\n",
    "NOT_STORED\r\n",
    "EXISTS\r\n",
    "NOT_FOUND\r\n",
    "DELETED\r\n",
    "TOUCHED\r\n",
    "RESET\r\n",
    kEndLine,
    "EN\r\n",
    "MN\r\n",
    "ERROR\r\n",
    "CLIENT_ERROR bad command line format\r\n",
    "CLIENT_ERROR bad data chunk\r\n",
    "CLIENT_ERROR invalid numeric delta argument\r\n",
    "CLIENT_ERROR invalid exptime argument\r\n",
    "CLIENT_ERROR cannot increment or decrement non-numeric value\r\n",
    "SERVER_ERROR object too large for cache\r\n",
    "SERVER_ERROR out of memory storing object\r\n",
    "CLIENT_ERROR flush_all not allowed\r\n",
    "SERVER_ERROR: shutdown not enabled\r\n",
    "CLIENT_ERROR invalid shutdown mode\r\n",
    "MEMLIMIT_TOO_SMALL cannot set maxbytes to less than 8m\r\n",
    "MEMLIMIT_ADJUST_FAILED input value is megabytes not bytes\r\n",
    "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n",
    "CLIENT_ERROR stats detail not allowed\r\n",
    "CLIENT_ERROR usage: stats detail on|off|dump\r\n",
    "CLIENT_ERROR stats cachedump not allowed\r\n",
    "CLIENT_ERROR unauthenticated\r\n",
    "CLIENT_ERROR authentication failure\r\n",
    "CLIENT_ERROR bad authentication token format\r\n",
    "CLIENT_ERROR bad command line termination\r\n",
    "CLIENT_ERROR auth token too long\r\n",
    "CLIENT_ERROR watch commands not allowed\r\n",
    "ERROR cannot pipeline other commands before watch\r\n",
    "WATCHER_TOO_MANY log watcher limit reached\r\n",
    "SERVER_ERROR reply too large for a datagram\r\n",
    "CLIENT_ERROR invalid flag\r\n",
    "CLIENT_ERROR duplicate flag\r\n",
    "CLIENT_ERROR invalid or duplicate flag\r\n",
    "CLIENT_ERROR options flags are too long\r\n",
    "CLIENT_ERROR bad token in command line format\r\n",
    "CLIENT_ERROR error decoding key\r\n",
    "CLIENT_ERROR invalid numeric delta value\r\n",
    "CLIENT_ERROR invalid numeric initial value\r\n",
    "CLIENT_ERROR invalid mode for ms M token\r\n",
    "CLIENT_ERROR invalid mode for ma M token\r\n",
    "CLIENT_ERROR opaque token too long\r\n",
    "CLIENT_ERROR bad command line\r\n",
    "CLIENT_ERROR Illegal slab id\r\n",
    "ERROR metadump not allowed\r\n",
    "ERROR key dump not allowed\r\n",
    "ERROR cannot pipeline other commands before metadump\r\n",
    "ERROR cannot pipeline other commands before mgdump\r\n",
    "CLIENT_ERROR lru crawler disabled\r\n",
    "NOTSTARTED no items to crawl\r\n",
    "CLIENT_ERROR sleep must be one second or less\r\n",
    "BADCLASS invalid class id\r\n",
    "BADCLASS invalid src or dst class id\r\n",
    "SAME src and dst class are identical\r\n",
    "NOSPARE source class has no spare pages\r\n",
    "CLIENT_ERROR slab reassignment disabled\r\n",
    "CLIENT_ERROR automove window too low or too high\r\n",
    "ERROR hot and warm pcts must not exceed 80\r\n",
    "ERROR hot/warm age factors must be greater than 0\r\n",
    "Error TLS not enabled\r\n",
};
static_assert(!kTexts.back().empty(), "every reply has a text");

char* Put(char* at, std::string_view bytes) noexcept {
  std::memcpy(at, bytes.data(), bytes.size());
  return at + bytes.size();
}

// Most numbers in replies are flags and lengths of few digits.
inline char* PutNumber(char* at, std::uint64_t number) noexcept {
  if (number < 10) {
    *at = static_cast<char>('0' + number);
    return at + 1;
  }
  if (number >= 1000) return std::to_chars(at, at + kMaxDigits, number).ptr;
  const auto digits = static_cast<std::uint32_t>(number);
  if (digits >= 100) *at++ = static_cast<char>('0' + digits / 100);
  *at = static_cast<char>('0' + digits / 10 % 10);
  at[1] = static_cast<char>('0' + digits % 10);
  return at + 2;
}

// A call of memcpy costs more than a short key.
char* PutKey(char* at, std::string_view key) noexcept {
  constexpr std::size_t kWord = 8;
  const char* const from = key.data();
  const std::size_t n = key.size();
  if (n < kWord) {
    for (std::size_t i = 0; i < n; ++i) at[i] = from[i];
    return at + n;
  }
  // The last word overlaps the one before.
  for (std::size_t i = 0; i < n - kWord; i += kWord) std::memcpy(at + i, from + i, kWord);
  std::memcpy(at + n - kWord, from + n - kWord, kWord);
  return at + n;
}

}  // namespace

std::string_view Text(Reply reply) noexcept {
  PODCACHE_DCHECK(reply < Reply::kCount);
  return kTexts[static_cast<std::size_t>(reply)];
}

char* WriteValueHeader(char* at, std::string_view key, std::uint32_t client_flags,
                       std::uint64_t value_bytes, const std::uint64_t* cas) noexcept {
  PODCACHE_DCHECK(key.size() <= kMaxKeyBytes);
  at = Put(at, "VALUE ");
  at = PutKey(at, key);
  *at++ = ' ';
  at = PutNumber(at, client_flags);
  *at++ = ' ';
  at = PutNumber(at, value_bytes);
  if (cas != nullptr) {
    *at++ = ' ';
    at = PutNumber(at, *cas);
  }
  return Put(at, kLineEnd);
}

NumberText::NumberText(std::uint64_t number) noexcept
    : size_(static_cast<std::size_t>(PutNumber(digits_, number) - digits_)) {}

void AppendNumberLine(std::uint64_t number, OutputBuffer& output) {
  char* const start = output.Reserve(kMaxDigits + kLineEnd.size());
  char* const end = Put(PutNumber(start, number), kLineEnd);
  output.Commit(static_cast<std::size_t>(end - start));
}

void AppendVersionLine(std::string_view version, OutputBuffer& output) {
  output.Append("VERSION ");
  output.Append(version);
  output.Append(kLineEnd);
}

void AppendStat(std::string_view name, std::string_view value, OutputBuffer& output) {
  output.Append("STAT ");
  output.Append(name);
  output.Append(" ");
  output.Append(value);
  output.Append(kLineEnd);
}

void AppendStat(std::string_view name, std::uint64_t value, OutputBuffer& output) {
  char digits[kMaxDigits];
  const char* const end = PutNumber(digits, value);
  AppendStat(name, std::string_view(digits, static_cast<std::size_t>(end - digits)), output);
}

}  // namespace podcache::protocol
