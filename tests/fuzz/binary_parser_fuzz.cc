// The binary parser over any bytes: see README.md for what must hold.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "server/protocol/binary_parser.h"

namespace {

using podcache::protocol::BinaryParser;
using podcache::protocol::BinaryParseResult;
using podcache::protocol::BinaryParseStatus;
using podcache::protocol::BinaryRequest;
using podcache::protocol::kBinaryHeaderBytes;
using podcache::protocol::kMaxBinaryBodyBytes;

void CheckSame(const BinaryParseResult& a, const BinaryParseResult& b) {
  PODCACHE_CHECK(a.status == b.status && a.error == b.error && a.consumed == b.consumed);
  PODCACHE_CHECK(a.skip_bytes == b.skip_bytes);
}

// What was decided must already be decided by the bytes that were consumed, and nothing less asks
// for anything but more.
void CheckDecision(std::string_view input, const BinaryParseResult& result) {
  BinaryRequest request;
  const std::size_t needed = std::max<std::size_t>(result.consumed, 1);
  CheckSame(result, BinaryParser::Parse(input.substr(0, needed), request));
  if (result.status == BinaryParseStatus::kClose) return;
  for (const std::size_t size : {std::size_t{0}, kBinaryHeaderBytes - 1}) {
    PODCACHE_CHECK(BinaryParser::Parse(input.substr(0, size), request).status ==
                   BinaryParseStatus::kNeedMore);
  }
}

void CheckRequest(std::string_view input, const BinaryRequest& request,
                  const BinaryParseResult& result) {
  PODCACHE_CHECK(request.key.size() <= podcache::protocol::kMaxKeyBytes);
  PODCACHE_CHECK(request.key.data() + request.key.size() == input.data() + result.consumed);
  PODCACHE_CHECK(request.value_bytes + request.key.size() <= kMaxBinaryBodyBytes);
  PODCACHE_CHECK(request.value_bytes == 0 || podcache::protocol::IsStorage(request.head.verb));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size: a read beyond it is noticed.
  const std::vector<char> bytes(data, data + size);
  std::string_view input(bytes.data(), bytes.size());
  while (!input.empty()) {
    BinaryRequest request;
    const BinaryParseResult result = BinaryParser::Parse(input, request);
    PODCACHE_CHECK(result.consumed <= input.size());
    if (result.status == BinaryParseStatus::kNeedMore) {
      // Never more than a header, the largest extras and the longest key.
      PODCACHE_CHECK(input.size() < kBinaryHeaderBytes + 255 + podcache::protocol::kMaxKeyBytes);
      return 0;
    }
    CheckDecision(input, result);
    if (result.status == BinaryParseStatus::kFatal || result.status == BinaryParseStatus::kClose)
      return 0;
    if (result.status == BinaryParseStatus::kRequest) CheckRequest(input, request, result);
    const std::uint64_t behind =
        result.status == BinaryParseStatus::kError ? result.skip_bytes : request.value_bytes;
    PODCACHE_CHECK(behind <= kMaxBinaryBodyBytes);
    input.remove_prefix(result.consumed);
    input.remove_prefix(static_cast<std::size_t>(std::min<std::uint64_t>(behind, input.size())));
  }
  return 0;
}
