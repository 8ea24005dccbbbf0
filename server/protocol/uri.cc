#include "server/protocol/uri.h"

#include <array>

namespace podcache::protocol {

namespace {

constexpr bool IsPlain(unsigned char c) noexcept {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '.' || c == '_' || c == '~';
}

constexpr std::array<bool, 256> kPlain = [] {
  std::array<bool, 256> plain{};
  for (std::size_t c = 0; c < plain.size(); ++c) plain[c] = IsPlain(static_cast<unsigned char>(c));
  return plain;
}();

constexpr char kDigits[] = "0123456789ABCDEF";

}  // namespace

char* WriteUri(char* at, std::string_view bytes) noexcept {
  for (const char byte : bytes) {
    const auto value = static_cast<unsigned char>(byte);
    if (kPlain[value]) {
      *at++ = byte;
      continue;
    }
    *at++ = '%';
    *at++ = kDigits[value >> 4U];
    *at++ = kDigits[value & 15U];
  }
  return at;
}

}  // namespace podcache::protocol
