#include "server/protocol/auth_parser.h"

#include "server/protocol/limits.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::protocol {

namespace {

AuthResult Error(Reply error, std::size_t consumed) noexcept {
  AuthResult result;
  result.status = AuthStatus::kError;
  result.error = error;
  result.consumed = consumed;
  return result;
}

AuthResult Close() noexcept {
  AuthResult result;
  result.status = AuthStatus::kClose;
  return result;
}

// The length of the value in "set key flags exptime length".
bool ReadLength(std::string_view line, std::uint32_t& length) noexcept {
  if (line.ends_with('\r')) line.remove_suffix(1);
  std::string_view rest = line;
  // A leading space is no command, as everywhere.
  if (!line.starts_with("set") || TakeToken(rest) != "set") return false;
  for (int i = 0; i < 3; ++i) {
    if (TakeToken(rest).empty()) return false;
  }
  return ParseUnsigned32(TakeToken(rest), length);
}

AuthResult ParseToken(std::string_view value, std::size_t consumed) noexcept {
  const std::size_t space = value.find(' ');
  if (space == std::string_view::npos) return Error(Reply::kBadAuthToken, consumed);
  AuthResult result;
  result.status = AuthStatus::kPair;
  result.consumed = consumed;
  result.user = value.substr(0, space);
  result.password = value.substr(space + 1);
  return result;
}

}  // namespace

AuthResult ParseAuth(std::string_view input) noexcept {
  const std::size_t newline = FindNewline(input.substr(0, kMaxLineBytes + kLineEnd.size()));
  if (newline == std::string_view::npos) {
    return input.size() < kMaxLineBytes + kLineEnd.size() ? AuthResult() : Close();
  }
  if (newline < kMinAuthLineBytes) return Close();
  const std::size_t start = newline + 1;
  std::uint32_t length = 0;
  if (!ReadLength(input.substr(0, newline), length)) return Error(Reply::kUnauthenticated, start);
  if (length > kMaxAuthTokenBytes) return Error(Reply::kAuthTooLong, start);
  const std::string_view block = input.substr(start, length + kLineEnd.size());
  if (block.size() < length + kLineEnd.size()) return AuthResult();
  const std::size_t consumed = start + block.size();
  if (!block.ends_with(kLineEnd)) return Error(Reply::kBadTermination, consumed);
  return ParseToken(block.substr(0, length), consumed);
}

}  // namespace podcache::protocol
