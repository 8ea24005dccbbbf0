#include "server/protocol/meta_encoder.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "server/protocol/base64.h"
#include "server/protocol/encoders.h"

namespace podcache::protocol {

namespace {

// A key in base64, and the flag behind it, is the longest part; nine more of at most 22 bytes, an
// opaque, the status and Z, X, W.
static_assert(Base64Bytes(kMaxKeyBytes) + 2 + 2 + 9 * 22 + kMaxOpaqueBytes + 2 + 24 + 6 + 2 <=
              kMaxMetaLineBytes);
constexpr std::size_t kMaxDigits = 20;

class Line {
 public:
  explicit Line(char* at) noexcept : at_(at) {}

  void Text(std::string_view text) noexcept {
    std::memcpy(at_, text.data(), text.size());
    at_ += text.size();
  }
  template <class T>
  void Number(T number) noexcept {
    at_ = std::to_chars(at_, at_ + kMaxDigits, number).ptr;
  }
  void Flag(char letter) noexcept {
    *at_++ = ' ';
    *at_++ = letter;
  }
  template <class T>
  void Flag(char letter, T number) noexcept {
    Flag(letter);
    Number(number);
  }
  void Key(const MetaRequest& request) noexcept {
    if (request.binary_key()) {
      at_ = EncodeBase64(request.key, at_);
    } else {
      Text(request.key);
    }
  }
  char* end() const noexcept { return at_; }

 private:
  char* at_;
};

std::string_view StatusWord(MetaStatus status) noexcept {
  switch (status) {
    case MetaStatus::kOk:
      return "HD";
    case MetaStatus::kMiss:
      return "EN";
    case MetaStatus::kNotFound:
      return "NF";
    case MetaStatus::kNotStored:
      return "NS";
    case MetaStatus::kExists:
      return "EX";
  }
  return "HD";
}

// The flags that this answer returns, besides k and O.
std::string_view ReturnFlags(MetaVerb verb, MetaStatus status) noexcept {
  if (verb == MetaVerb::kSet) return "cs";
  if (status != MetaStatus::kOk) return "";
  if (verb == MetaVerb::kGet) return "cfhlst";
  return verb == MetaVerb::kArithmetic ? "ct" : "";
}

void WriteFlag(char letter, const MetaItem& item, std::int64_t ttl, Line& line) noexcept {
  switch (letter) {
    case 'c':
      return line.Flag(letter, item.cas);
    case 'f':
      return line.Flag(letter, item.client_flags);
    case 'h':
      return line.Flag(letter, item.fetched ? 1 : 0);
    case 'l':
      return line.Flag(letter, item.idle_seconds);
    case 's':
      return line.Flag(letter, item.value_bytes);
    case 't':
      return line.Flag(letter, ttl);
    default:
      return;
  }
}

// T and N act where they stand: a t before them shows what was there.
void WriteFlags(MetaStatus status, const MetaRequest& request, const MetaItem& item,
                Line& line) noexcept {
  const std::string_view wanted = ReturnFlags(request.verb, status);
  std::int64_t ttl = item.created ? -1 : item.ttl;
  for (const char letter : request.flags.order()) {
    if (letter == 'k') {
      line.Flag(letter);
      line.Key(request);
      if (request.binary_key()) line.Flag('b');
    } else if (letter == 'O') {
      line.Flag(letter);
      line.Text(request.opaque);
    } else if (letter == 'T') {
      ttl = item.new_ttl;
    } else if (letter == 'N' && item.created) {
      ttl = item.vivify_ttl;
    } else if (wanted.find(letter) != std::string_view::npos) {
      WriteFlag(letter, item, ttl, line);
    }
  }
}

}  // namespace

char* WriteMetaLine(char* at, MetaStatus status, const MetaRequest& request,
                    const MetaItem& item) noexcept {
  Line line(at);
  if (item.has_value) {
    line.Text("VA ");
    line.Number(item.value_bytes);
  } else {
    line.Text(StatusWord(status));
  }
  WriteFlags(status, request, item, line);
  if (item.held) line.Flag('Z');
  if (item.stale) line.Flag('X');
  if (item.won) line.Flag('W');
  line.Text(kLineEnd);
  return line.end();
}

void AppendMetaLine(MetaStatus status, const MetaRequest& request, const MetaItem& item,
                    OutputBuffer& output) {
  char* const start = output.Reserve(kMaxMetaLineBytes);
  output.Commit(static_cast<std::size_t>(WriteMetaLine(start, status, request, item) - start));
}

void AppendMetaDebugLine(const MetaRequest& request, const MetaItem& item, OutputBuffer& output) {
  char* const start = output.Reserve(kMaxMetaLineBytes);
  Line line(start);
  line.Text("ME ");
  line.Key(request);
  line.Text(" exp=");
  line.Number(item.ttl);
  line.Text(" la=");
  line.Number(item.idle_seconds);
  line.Text(" cas=");
  line.Number(item.cas);
  line.Text(item.fetched ? " fetch=yes" : " fetch=no");
  // The whole cache is one class.
  line.Text(" cls=1 size=");
  line.Number(item.item_bytes);
  line.Text(kLineEnd);
  output.Commit(static_cast<std::size_t>(line.end() - start));
}

}  // namespace podcache::protocol
