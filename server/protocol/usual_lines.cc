#include "server/protocol/usual_lines.h"

namespace podcache::protocol {

namespace {

constexpr std::ptrdiff_t kMaxDigits = 9;  // Fit 32 bits, with or without a sign.

// Behind the digits at `at` and the byte `end` that must follow them, or null.
inline const char* TakeNumber(const char* at, const char* limit, char end,
                              std::uint32_t& out) noexcept {
  std::uint32_t number = 0;
  const char* const start = at;
  const char* const last = limit - at > kMaxDigits ? at + kMaxDigits : limit;
  for (; at != last; ++at) {
    const auto digit = static_cast<std::uint32_t>(static_cast<unsigned char>(*at)) - '0';
    if (digit > 9) break;
    number = number * 10 + digit;
  }
  if (at == start || at == limit || *at != end) return nullptr;
  out = number;
  return at + 1;
}

}  // namespace

std::size_t TakeUsualSet(std::string_view input, Request& request) noexcept {
  constexpr std::string_view kWord = "set ";
  if (!input.starts_with(kWord)) return 0;
  const std::size_t key_bytes = FindSeparator(input.substr(kWord.size(), kMaxKeyBytes + 1));
  if (key_bytes == std::string_view::npos || key_bytes == 0) return 0;
  const char* at = input.data() + kWord.size() + key_bytes;
  const char* const limit = input.data() + input.size();
  if (*at++ != ' ') return 0;
  std::uint32_t flags = 0;
  std::uint32_t exptime = 0;
  std::uint32_t value_bytes = 0;
  at = TakeNumber(at, limit, ' ', flags);
  if (at != nullptr) at = TakeNumber(at, limit, ' ', exptime);
  if (at != nullptr) at = TakeNumber(at, limit, '\r', value_bytes);
  if (at == nullptr || at == limit || *at != '\n') return 0;
  static_assert(kMaxDataBytes > 999'999'999);
  request = Request();
  request.verb = Verb::kSet;
  request.key = input.substr(kWord.size(), key_bytes);
  request.client_flags = flags;
  request.exptime = exptime;
  request.value_bytes = value_bytes;
  return static_cast<std::size_t>(at - input.data()) + 1;
}

}  // namespace podcache::protocol
