// What may be said before authentication, from any bytes: see README.md for what must hold.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "common/base/check.h"
#include "server/protocol/auth_parser.h"

namespace {

using podcache::protocol::AuthResult;
using podcache::protocol::AuthStatus;
using podcache::protocol::kMaxAuthTokenBytes;
using podcache::protocol::ParseAuth;

// The pair is the value, whole but for the space between: inside what was consumed, in front of its
// line end.
void CheckPair(std::string_view input, const AuthResult& result) {
  const std::string_view used = input.substr(0, result.consumed);
  const std::size_t token_bytes = result.user.size() + 1 + result.password.size();
  PODCACHE_CHECK(token_bytes <= kMaxAuthTokenBytes && token_bytes + 2 < used.size());
  const std::string_view token = used.substr(used.size() - 2 - token_bytes, token_bytes);
  PODCACHE_CHECK(used.ends_with("\r\n") && used.starts_with("set"));
  PODCACHE_CHECK(result.user.data() == token.data());
  PODCACHE_CHECK(result.password.data() == token.data() + result.user.size() + 1);
  PODCACHE_CHECK(result.user.find(' ') == std::string_view::npos);
}

// Decided by the bytes that were consumed alone, and by no fewer.
void CheckDecision(std::string_view input, const AuthResult& result) {
  const std::string_view used = input.substr(0, result.consumed);
  const AuthResult again = ParseAuth(used);
  PODCACHE_CHECK(again.status == result.status && again.consumed == result.consumed);
  PODCACHE_CHECK(again.user == result.user && again.password == result.password);
  for (const std::size_t size : {std::size_t{0}, used.size() / 2, used.size() - 1}) {
    PODCACHE_CHECK(ParseAuth(used.substr(0, size)).status == AuthStatus::kNeedMore);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  // A copy of exactly this size: a read beyond it is noticed.
  const std::vector<char> bytes(data, data + size);
  std::string_view input(bytes.data(), bytes.size());
  while (!input.empty()) {
    const AuthResult result = ParseAuth(input);
    PODCACHE_CHECK(result.consumed <= input.size());
    if (result.status == AuthStatus::kNeedMore || result.status == AuthStatus::kClose) {
      PODCACHE_CHECK(result.consumed == 0);
      return 0;
    }
    PODCACHE_CHECK(result.consumed > 0);
    CheckDecision(input, result);
    if (result.status == AuthStatus::kPair) CheckPair(input, result);
    input.remove_prefix(result.consumed);
  }
  return 0;
}
