// What a connection may say before it is authenticated: a `set` whose value is "user password".
//
// Pure like TextParser: the same bytes give the same answer however they are cut, and until that is
// decided the answer is kNeedMore. Key, flags and exptime are ignored.
//
// Threads: any. Ownership: views refer to the input. Source: protocol.md 5.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/protocol/encoders.h"

namespace podcache::protocol {

// "user password", and the shortest line that could ask for it.
inline constexpr std::size_t kMaxAuthTokenBytes = 16384;
inline constexpr std::size_t kMinAuthLineBytes = 6;

enum class AuthStatus : std::uint8_t {
  kNeedMore,
  kPair,   // user and password are to be checked.
  kError,  // Answer `error`.
  kClose,  // No answer.
};

struct AuthResult {
  AuthStatus status = AuthStatus::kNeedMore;
  Reply error = Reply::kError;
  std::size_t consumed = 0;
  std::string_view user;
  std::string_view password;
};

AuthResult ParseAuth(std::string_view input) noexcept;

}  // namespace podcache::protocol
