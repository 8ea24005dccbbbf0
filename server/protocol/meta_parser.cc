#include "server/protocol/meta_parser.h"

#include <cstdint>
#include <optional>

#include "server/protocol/base64.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"
#include "server/protocol/verbs.h"

namespace podcache::protocol {

namespace {

ParseResult Error(Reply error, std::uint64_t skip_bytes = 0) noexcept {
  ParseResult result;
  result.status = ParseStatus::kError;
  result.error = error;
  result.skip_bytes = skip_bytes;
  return result;
}

ParseResult Complete() noexcept {
  ParseResult result;
  result.status = ParseStatus::kRequest;
  return result;
}

std::string_view WithoutLineEnd(std::string_view line) noexcept {
  if (line.ends_with('\n')) line.remove_suffix(1);
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

// A token that starts otherwise makes the whole line unreadable.
constexpr bool StartsLikeAFlag(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= MetaFlags::kFirst && c <= MetaFlags::kLast);
}

// What is wrong with the flags. An unknown or repeated letter ends the reading; of wrong numbers
// the last one is told of.
class Findings {
 public:
  void Number(bool fine, Reply error) noexcept {
    if (!fine) number_ = error;
  }
  // The only one that leaves another finding in place.
  void ClientFlags(bool fine) noexcept {
    if (!fine && !number_) number_ = Reply::kBadFormat;
  }
  void Fatal(Reply error) noexcept { fatal_ = error; }
  void Unreadable() noexcept { unreadable_ = true; }
  void OpaqueTooLong() noexcept { opaque_too_long_ = true; }

  bool fatal() const noexcept { return fatal_.has_value(); }
  bool unreadable() const noexcept { return unreadable_; }
  bool opaque_too_long() const noexcept { return opaque_too_long_; }
  std::optional<Reply> worst() const noexcept { return fatal_ ? fatal_ : number_; }

 private:
  std::optional<Reply> fatal_;
  std::optional<Reply> number_;
  bool unreadable_ = false;
  bool opaque_too_long_ = false;
};

void ReadKey(MetaRequest& request, KeyBuffer& buffer, Findings& findings) noexcept {
  const std::optional<std::size_t> bytes =
      request.key.size() <= kMaxKeyBytes ? DecodeBase64(request.key, buffer.data()) : std::nullopt;
  findings.Number(bytes.has_value(), Reply::kMetaBadKey);
  if (bytes) request.key = {buffer.data(), *bytes};
}

void ReadFlag(std::string_view token, MetaRequest& request, Findings& findings) noexcept {
  const std::string_view rest = token.substr(1);
  const auto number = [&](bool fine) { findings.Number(fine, Reply::kMetaBadToken); };
  switch (token[0]) {
    case 'b':
    case 'c':
    case 'f':
    case 'h':
    case 'k':
    case 'l':
    case 'q':
    case 's':
    case 't':
    case 'u':
    case 'v':
    case 'x':
    case 'I':
    case 'L':
    case 'P':
      return;
    case 'C':
      return number(ParseUnsigned64(rest, request.compare_cas));
    case 'E':
      return number(ParseUnsigned64(rest, request.set_cas));
    case 'N':
      return number(ParseSigned32(rest, request.vivify_exptime));
    case 'R':
      return number(ParseSigned32(rest, request.recache_exptime));
    case 'T':
      return number(ParseSigned32(rest, request.exptime));
    case 'D':
      return findings.Number(ParseUnsigned64(rest, request.delta), Reply::kMetaBadDelta);
    case 'J':
      return findings.Number(ParseUnsigned64(rest, request.initial), Reply::kMetaBadInitial);
    case 'F':
      return findings.ClientFlags(ParseUnsigned32(rest, request.client_flags));
    case 'M':
      request.mode = rest.empty() ? '\0' : rest[0];
      return;
    case 'O':
      request.opaque = rest;
      if (rest.size() > kMaxOpaqueBytes) findings.OpaqueTooLong();
      return;
    default:
      findings.Fatal(Reply::kMetaInvalidFlag);
  }
}

void ReadFlags(std::string_view flags, std::size_t tokens_before, MetaRequest& request,
               KeyBuffer& key_buffer, Findings& findings) noexcept {
  std::size_t tokens = tokens_before;
  for (std::string_view token = TakeToken(flags); !token.empty(); token = TakeToken(flags)) {
    if (!StartsLikeAFlag(token[0])) findings.Unreadable();
    if (++tokens > kMaxMetaTokens) findings.Fatal(Reply::kMetaTooManyFlags);
    if (findings.fatal() || findings.unreadable()) continue;
    const char letter = token[0];
    if (letter >= MetaFlags::kFirst && request.flags.Has(letter)) {
      findings.Fatal(Reply::kMetaDuplicateFlag);
      continue;
    }
    ReadFlag(token, request, findings);
    if (findings.fatal()) continue;
    request.flags.Add(letter);
    if (letter == 'b') ReadKey(request, key_buffer, findings);
  }
}

Reply ModeError(MetaVerb verb) noexcept {
  return verb == MetaVerb::kSet ? Reply::kMetaBadSetMode : Reply::kMetaBadArithmeticMode;
}

bool ModeFits(const MetaRequest& request) noexcept {
  if (!request.flags.Has('M')) return true;
  constexpr std::string_view kSetModes = "SEAPR";
  constexpr std::string_view kArithmeticModes = "I+D-";
  if (request.verb == MetaVerb::kSet) return kSetModes.find(request.mode) != kSetModes.npos;
  return request.verb != MetaVerb::kArithmetic ||
         kArithmeticModes.find(request.mode) != kArithmeticModes.npos;
}

// What to answer, or nothing if the request is fine.
std::optional<Reply> Verdict(const MetaRequest& request, std::string_view key_token,
                             const Findings& findings) noexcept {
  if (findings.unreadable()) return Reply::kBadFormat;
  std::optional<Reply> error = findings.worst();
  if (key_token.size() > kMaxKeyBytes) error = Reply::kBadFormat;
  if (error) {
    return request.verb == MetaVerb::kArithmetic ? Reply::kMetaInvalidOrDuplicateFlag : error;
  }
  if (!ModeFits(request)) return ModeError(request.verb);
  if (findings.opaque_too_long()) return Reply::kMetaOpaqueTooLong;
  return std::nullopt;
}

// me has a key and perhaps b; anything else is ignored.
ParseResult ParseDebug(std::string_view rest, MetaRequest& request,
                       KeyBuffer& key_buffer) noexcept {
  if (request.key.size() > kMaxKeyBytes) return Error(Reply::kBadFormat);
  if (TakeToken(rest) != "b") return Complete();
  request.flags.Add('b');
  Findings findings;
  ReadKey(request, key_buffer, findings);
  return findings.worst() ? Error(Reply::kBadFormat) : Complete();
}

}  // namespace

ParseResult MetaParser::Parse(std::string_view line, MetaRequest& request,
                              KeyBuffer& key_buffer) noexcept {
  std::string_view rest = WithoutLineEnd(line);
  request = MetaRequest();
  request.verb = *FindMetaVerb(TakeToken(rest));
  if (request.verb == MetaVerb::kNoop) return Complete();
  const std::string_view key_token = TakeToken(rest);
  request.key = key_token;
  if (key_token.empty()) return Error(Reply::kBadFormat);
  if (request.verb == MetaVerb::kDebug) return ParseDebug(rest, request, key_buffer);
  std::size_t tokens = 2;
  std::uint64_t skip_bytes = 0;
  if (request.verb == MetaVerb::kSet) {
    std::int32_t value_bytes = 0;
    if (!ParseSigned32(TakeToken(rest), value_bytes) || value_bytes < 0 ||
        static_cast<std::uint64_t>(value_bytes) > kMaxDataBytes) {
      return Error(Reply::kBadFormat);
    }
    request.value_bytes = static_cast<std::uint64_t>(value_bytes);
    skip_bytes = request.value_bytes + kLineEnd.size();
    ++tokens;
  }
  Findings findings;
  ReadFlags(rest, tokens, request, key_buffer, findings);
  const std::optional<Reply> error = Verdict(request, key_token, findings);
  return error ? Error(*error, skip_bytes) : Complete();
}

}  // namespace podcache::protocol
