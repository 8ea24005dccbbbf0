#include "server/protocol/base64.h"

#include <array>
#include <cstdint>

namespace podcache::protocol {

namespace {

constexpr std::string_view kLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
constexpr std::uint8_t kNoLetter = 0xff;

constexpr std::array<std::uint8_t, 256> MakeValues() noexcept {
  std::array<std::uint8_t, 256> values{};
  values.fill(kNoLetter);
  for (std::size_t i = 0; i < kLetters.size(); ++i) {
    values[static_cast<unsigned char>(kLetters[i])] = static_cast<std::uint8_t>(i);
  }
  return values;
}
constexpr std::array<std::uint8_t, 256> kValues = MakeValues();

// `count` letters as one number, or nothing.
std::optional<std::uint32_t> Bits(std::string_view letters) noexcept {
  std::uint32_t bits = 0;
  for (const char letter : letters) {
    const std::uint8_t value = kValues[static_cast<unsigned char>(letter)];
    if (value == kNoLetter) return std::nullopt;
    bits = bits << 6 | value;
  }
  return bits << 6 * (4 - letters.size());
}

}  // namespace

std::optional<std::size_t> DecodeBase64(std::string_view text, char* to) noexcept {
  if (text.empty() || text.size() % 4 != 0) return std::nullopt;
  const std::size_t padding = text.ends_with("==") ? 2 : text.ends_with('=') ? 1 : 0;
  text.remove_suffix(padding);
  char* at = to;
  while (!text.empty()) {
    const std::string_view group = text.substr(0, 4);
    const std::optional<std::uint32_t> bits = Bits(group);
    if (!bits) return std::nullopt;
    for (std::size_t i = 0; i + 1 < group.size(); ++i) {
      *at++ = static_cast<char>(*bits >> (16 - 8 * i) & 0xff);
    }
    text.remove_prefix(group.size());
  }
  return static_cast<std::size_t>(at - to);
}

char* EncodeBase64(std::string_view bytes, char* to) noexcept {
  while (!bytes.empty()) {
    const std::string_view group = bytes.substr(0, 3);
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const char byte = i < group.size() ? group[i] : '\0';
      bits = bits << 8 | static_cast<unsigned char>(byte);
    }
    for (std::size_t i = 0; i < 4; ++i) {
      *to++ = i <= group.size() ? kLetters[bits >> (18 - 6 * i) & 0x3f] : '=';
    }
    bytes.remove_prefix(group.size());
  }
  return to;
}

}  // namespace podcache::protocol
