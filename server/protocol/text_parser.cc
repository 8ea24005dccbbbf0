#include "server/protocol/text_parser.h"

#include <algorithm>
#include <array>
#include <optional>

#include "server/protocol/limits.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"
#include "server/protocol/verbs.h"

namespace podcache::protocol {

namespace {

constexpr auto kNpos = std::string_view::npos;

ParseResult Error(Reply error, std::size_t consumed, bool noreply = false) noexcept {
  ParseResult result;
  result.status = ParseStatus::kError;
  result.error = error;
  result.noreply = noreply;
  result.consumed = consumed;
  return result;
}

ParseResult Close() noexcept {
  ParseResult result;
  result.status = ParseStatus::kClose;
  return result;
}

ParseResult SkipLine(Reply error) noexcept {
  ParseResult result;
  result.status = ParseStatus::kSkipLine;
  result.error = error;
  return result;
}

ParseResult Complete(ParseStatus status, std::size_t consumed) noexcept {
  ParseResult result;
  result.status = status;
  result.consumed = consumed;
  return result;
}

bool HasNoreply(std::string_view arguments) noexcept { return LastToken(arguments) == "noreply"; }

bool IsKey(std::string_view token) noexcept {
  return !token.empty() && token.size() <= kMaxKeyBytes;
}

// The word of a retrieval line: "get ", "gets ", "gat ", "gats ".
std::optional<Verb> RetrievalVerb(std::string_view input) noexcept {
  if (!input.starts_with('g')) return std::nullopt;
  if (input.starts_with("get ")) return Verb::kGet;
  if (input.starts_with("gets ")) return Verb::kGets;
  if (input.starts_with("gat ")) return Verb::kGat;
  if (input.starts_with("gats ")) return Verb::kGats;
  return std::nullopt;
}

// Every key of a whole line: at least one, none over-long.
bool AllKeysFit(std::string_view keys) noexcept {
  if (CountLeadingSpaces(keys) == keys.size()) return false;
  // Among so many bytes there is a space, if the token they begin with is not too long; the last
  // one there ends tokens that all are not.
  while (keys.size() > kMaxKeyBytes) {
    const std::size_t space = keys.substr(0, kMaxKeyBytes + 1).rfind(' ');
    if (space == kNpos) return false;
    keys.remove_prefix(space + 1);
  }
  return true;
}

// `line` is the whole line, or its known beginning if it is longer than others may be. `whole` has
// the bytes to consume with the line, 0 for such a beginning.
ParseResult ParseRetrieval(Verb verb, std::string_view line, std::size_t whole,
                           Request& request) noexcept {
  std::string_view rest = line.substr(ReturnsCas(verb) ? 4 : 3);
  request = Request();
  request.verb = verb;
  if (SetsExptime(verb)) {
    const std::string_view token = TakeToken(rest);
    if (whole != 0 && CountLeadingSpaces(rest) == rest.size())
      return Error(Reply::kBadFormat, whole);
    std::int32_t exptime = 0;
    // A token that goes on behind the known beginning stands behind two thousand spaces.
    if (rest.empty() || !ParseSigned32(token, exptime)) {
      return whole != 0 ? Error(Reply::kBadExptime, whole) : SkipLine(Reply::kBadExptime);
    }
    request.exptime = exptime;
  }
  if (whole != 0 && !AllKeysFit(rest)) return Error(Reply::kBadFormat, whole);
  return Complete(ParseStatus::kKeys, static_cast<std::size_t>(rest.data() - line.data()));
}

// More than kMaxLineBytes without a newline.
ParseResult ParseOverlong(std::string_view input, Request& request) noexcept {
  const std::size_t spaces = CountLeadingSpaces(input.substr(0, kMaxLeadingSpaces + 1));
  const std::optional<Verb> verb = RetrievalVerb(input.substr(spaces));
  if (!verb || spaces > kMaxLeadingSpaces) return Close();
  // A command never starts with a space; the line is only spared the limit.
  if (spaces > 0) return SkipLine(Reply::kError);
  return ParseRetrieval(*verb, input.substr(0, kMaxLineBytes), 0, request);
}

// set, add, replace, append, prepend, cas.
ParseResult ParseStorage(std::string_view arguments, std::size_t consumed,
                         Request& request) noexcept {
  std::string_view rest = arguments;
  request.key = TakeToken(rest);
  const std::string_view flags = TakeToken(rest);
  const std::string_view exptime = TakeToken(rest);
  const std::string_view length = TakeToken(rest);
  std::int32_t value_bytes = 0;
  if (!ParseSigned32(length, value_bytes) || value_bytes < 0 ||
      static_cast<std::uint64_t>(value_bytes) > kMaxDataBytes) {
    return Error(Reply::kBadFormat, consumed, request.noreply);
  }
  request.value_bytes = static_cast<std::uint64_t>(value_bytes);
  const bool fine =
      IsKey(request.key) && ParseClientFlags(flags, request.client_flags) &&
      ParseExptime(exptime, request.exptime) &&
      (request.verb != Verb::kCas || ParseUnsigned64(TakeToken(rest), request.number));
  if (fine) return Complete(ParseStatus::kRequest, consumed);
  ParseResult result = Error(Reply::kBadFormat, consumed, request.noreply);
  result.skip_bytes = request.value_bytes + kLineEnd.size();
  return result;
}

// delete, incr, decr, touch. Whatever stands behind the needed arguments is ignored.
ParseResult ParseOneKey(std::string_view arguments, std::size_t consumed,
                        Request& request) noexcept {
  std::string_view rest = arguments;
  request.key = TakeToken(rest);
  const std::string_view operand = TakeToken(rest);
  if (!IsKey(request.key) || (request.verb != Verb::kDelete && operand.empty())) {
    return Error(Reply::kBadFormat, consumed, request.noreply);
  }
  if (request.verb == Verb::kTouch) {
    std::int32_t exptime = 0;
    if (!ParseSigned32(operand, exptime))
      return Error(Reply::kBadExptime, consumed, request.noreply);
    request.exptime = exptime;
  } else if (request.verb != Verb::kDelete && !ParseUnsigned64(operand, request.number)) {
    return Error(Reply::kBadDelta, consumed, request.noreply);
  }
  return Complete(ParseStatus::kRequest, consumed);
}

ParseResult ParseAdministration(std::string_view arguments, std::size_t consumed,
                                Request& request) noexcept {
  request.arguments = TrimTrailingSpaces(arguments.substr(CountLeadingSpaces(arguments)));
  // As in memcached, these always answer.
  if (request.verb == Verb::kVersion || request.verb == Verb::kStats ||
      request.verb == Verb::kWatch || request.verb == Verb::kRefreshCerts) {
    request.noreply = false;
  }
  return Complete(ParseStatus::kRequest, consumed);
}

ParseResult ParseUnknown(std::string_view line, std::size_t consumed) noexcept {
  const bool noreply = HasNoreply(line);
  TakeToken(line);
  // A browser, or somebody making one talk to a cache: what follows must not be run as commands.
  if (LastToken(line).starts_with("HTTP/")) return Close();
  return Error(Reply::kError, consumed, noreply);
}

}  // namespace

ParseResult TextParser::Parse(std::string_view input, Request& request) noexcept {
  if (input.empty()) return ParseResult();
  // The line end does not count.
  const std::size_t newline = FindNewline(input.substr(0, kMaxLineBytes + kLineEnd.size()));
  std::string_view line = input.substr(0, newline);
  if (line.ends_with('\r')) line.remove_suffix(1);
  if (line.size() > kMaxLineBytes) return ParseOverlong(input, request);
  if (newline == kNpos) return ParseResult();
  const std::size_t consumed = newline + 1;
  // memcached takes these for blank ones, even mn.
  if (consumed <= kMaxBlankBytes && line != "mn") return Error(Reply::kBadFormat, consumed);
  if (const std::optional<Verb> verb = RetrievalVerb(line)) {
    return ParseRetrieval(*verb, line, consumed, request);
  }

  const std::string_view word = line.substr(0, line.find(' '));
  if (FindMetaVerb(word)) return Complete(ParseStatus::kMeta, consumed);
  const std::string_view arguments = line.substr(word.size());
  const std::optional<Verb> verb = FindVerb(word);
  if (!verb) return ParseUnknown(line, consumed);
  if (IsRetrieval(*verb)) return Error(Reply::kBadFormat, consumed);
  request = Request();
  request.verb = *verb;
  request.noreply = HasNoreply(arguments);
  if (IsStorage(*verb)) return ParseStorage(arguments, consumed, request);
  if (*verb <= Verb::kTouch) return ParseOneKey(arguments, consumed, request);
  return ParseAdministration(arguments, consumed, request);
}

KeyResult TextParser::NextKey(std::string_view input) noexcept {
  KeyResult result;
  result.consumed = CountLeadingSpaces(input);
  const std::string_view rest = input.substr(result.consumed);
  // The longest key, the line end behind it, and one byte to tell that it is longer.
  constexpr std::size_t kLookAhead = kMaxKeyBytes + 3;
  const std::size_t end = FindSeparator(rest.substr(0, kLookAhead));
  if (end == kNpos) {
    const bool may_fit =
        rest.size() <= kMaxKeyBytes || (rest.size() == kMaxKeyBytes + 1 && rest.ends_with('\r'));
    result.status = may_fit ? KeyStatus::kNeedMore : KeyStatus::kTooLong;
    return result;
  }
  result.key = rest.substr(0, end);
  const bool last = rest[end] == '\n';
  if (last && result.key.ends_with('\r')) result.key.remove_suffix(1);
  if (result.key.size() > kMaxKeyBytes) {
    result.status = KeyStatus::kTooLong;
    return result;
  }
  result.consumed += last ? end + 1 : end;
  result.status = !last                ? KeyStatus::kKey
                  : result.key.empty() ? KeyStatus::kEndOfLine
                                       : KeyStatus::kLastKey;
  return result;
}

}  // namespace podcache::protocol
