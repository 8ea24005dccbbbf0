// The text parser over any bytes: see README.md for what must hold.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "server/protocol/meta_encoder.h"
#include "server/protocol/meta_parser.h"
#include "server/protocol/text_parser.h"

namespace {

using podcache::protocol::KeyResult;
using podcache::protocol::KeyStatus;
using podcache::protocol::ParseResult;
using podcache::protocol::ParseStatus;
using podcache::protocol::Request;
using podcache::protocol::TextParser;

void CheckInside(std::string_view part, std::string_view whole) {
  if (part.empty()) return;
  PODCACHE_CHECK(part.data() >= whole.data());
  PODCACHE_CHECK(part.data() + part.size() <= whole.data() + whole.size());
}

void CheckSame(const ParseResult& a, const ParseResult& b) {
  PODCACHE_CHECK(a.status == b.status && a.consumed == b.consumed && a.noreply == b.noreply);
  PODCACHE_CHECK(a.skip_bytes == b.skip_bytes);
  PODCACHE_CHECK(a.status == ParseStatus::kNeedMore || a.error == b.error);
}

// Takes the keys of a retrieval line; returns how many bytes they were.
std::size_t TakeKeys(std::string_view input) {
  std::size_t at = 0;
  while (true) {
    const KeyResult key = TextParser::NextKey(input.substr(at));
    PODCACHE_CHECK(at + key.consumed <= input.size());
    CheckInside(key.key, input);
    at += key.consumed;
    if (key.status == KeyStatus::kKey || key.status == KeyStatus::kLastKey) {
      PODCACHE_CHECK(!key.key.empty() && key.key.size() <= podcache::protocol::kMaxKeyBytes);
      PODCACHE_CHECK(key.key.find(' ') == std::string_view::npos);
      PODCACHE_CHECK(key.key.find('\n') == std::string_view::npos);
    }
    if (key.status != KeyStatus::kKey) return at;
  }
}

void CheckMeta(std::string_view line) {
  podcache::protocol::MetaRequest request;
  podcache::protocol::KeyBuffer key_buffer;
  const ParseResult result = podcache::protocol::MetaParser::Parse(line, request, key_buffer);
  if (result.status == ParseStatus::kError) return;
  PODCACHE_CHECK(result.status == ParseStatus::kRequest && result.skip_bytes == 0);
  PODCACHE_CHECK(request.key.size() <= podcache::protocol::kMaxKeyBytes);
  PODCACHE_CHECK(request.opaque.size() <= podcache::protocol::kMaxOpaqueBytes);
  PODCACHE_CHECK(request.key.empty() == (request.verb == podcache::protocol::MetaVerb::kNoop));
  CheckInside(request.opaque, line);
  if (!request.binary_key()) CheckInside(request.key, line);
  // Whatever the answer, it fits.
  char answer[podcache::protocol::kMaxMetaLineBytes];
  podcache::protocol::MetaItem item;
  item.value_bytes = item.cas = UINT64_MAX;
  item.ttl = item.new_ttl = item.vivify_ttl = INT64_MIN;
  item.client_flags = item.idle_seconds = UINT32_MAX;
  item.has_value = item.stale = item.won = item.held = true;
  const char* const end =
      podcache::protocol::WriteMetaLine(answer, podcache::protocol::MetaStatus::kOk, request, item);
  PODCACHE_CHECK(end <= answer + sizeof answer);
}

// What was decided must already be decided by the bytes of the line alone, and not before its end.
void CheckDecision(std::string_view input, const ParseResult& result) {
  const std::size_t newline = input.find('\n');
  if (newline == std::string_view::npos) return;
  Request request;
  CheckSame(result, TextParser::Parse(input.substr(0, newline + 1), request));
  if (newline > podcache::protocol::kMaxLineBytes) return;
  for (const std::size_t size : {std::size_t{0}, newline / 2, newline}) {
    PODCACHE_CHECK(TextParser::Parse(input.substr(0, size), request).status ==
                   ParseStatus::kNeedMore);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size: a read beyond it is noticed.
  const std::vector<char> bytes(data, data + size);
  std::string_view input(bytes.data(), bytes.size());
  while (!input.empty()) {
    Request request;
    const ParseResult result = TextParser::Parse(input, request);
    PODCACHE_CHECK(result.consumed <= input.size());
    CheckDecision(input, result);
    std::size_t used = result.consumed;
    switch (result.status) {
      case ParseStatus::kNeedMore:
        PODCACHE_CHECK(used == 0 && input.size() <= podcache::protocol::kMaxLineBytes + 2);
        return 0;
      case ParseStatus::kClose:
        return 0;
      case ParseStatus::kKeys:
        used += TakeKeys(input.substr(used));
        break;
      case ParseStatus::kRequest:
        CheckInside(request.key, input);
        CheckInside(request.arguments, input);
        break;
      case ParseStatus::kMeta:
        CheckMeta(input.substr(0, used));
        break;
      case ParseStatus::kError:
        break;
      case ParseStatus::kSkipLine: {
        const std::size_t newline = input.find('\n');
        used = newline == std::string_view::npos ? input.size() : newline + 1;
        break;
      }
    }
    if (used == 0) return 0;
    input.remove_prefix(used);
  }
  return 0;
}
