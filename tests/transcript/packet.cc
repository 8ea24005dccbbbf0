// Packets of the binary protocol, as transcript lines describe them.
#include <charconv>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>

#include "common/base/big_endian.h"
#include "common/base/check.h"
#include "tests/transcript/transcript.h"

namespace podcache::transcript {

namespace {

constexpr std::size_t kHeaderBytes = 24;

std::uint64_t Number(std::string_view text, int base) {
  std::uint64_t number = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, number, base);
  PODCACHE_CHECK(error == std::errc() && stop == end);
  return number;
}

std::string FromHex(std::string_view text) {
  std::string bytes;
  while (!text.empty()) {
    if (text[0] == '.') {
      text.remove_prefix(1);
      continue;
    }
    bytes += static_cast<char>(Number(text.substr(0, 2), 16));
    text.remove_prefix(2);
  }
  return bytes;
}

// Opcode and fields of a line; the name of one with a regular expression ends with ~.
struct Description {
  Description(std::string_view text, std::string_view group) {
    bool first = true;
    while (!text.empty()) {
      const std::string_view word = text.substr(0, text.find(' '));
      text.remove_prefix(word.size() < text.size() ? word.size() + 1 : word.size());
      if (first) {
        opcode = static_cast<std::uint8_t>(Number(word, 16));
        first = false;
        continue;
      }
      const std::size_t sign = word.find_first_of("=~");
      PODCACHE_CHECK(sign != std::string_view::npos);
      std::string name(word.substr(0, sign + (word[sign] == '~' ? 1 : 0)));
      const std::string_view value = word.substr(sign + 1);
      fields[std::move(name)] = value == "$1" ? std::string(group) : std::string(value);
    }
  }

  bool Has(const std::string& name) const { return fields.contains(name); }
  std::string Raw(const std::string& name) const {
    const auto found = fields.find(name);
    return found == fields.end() ? "" : found->second;
  }
  std::string Bytes(const std::string& name) const { return Expand(Raw(name), ""); }
  std::uint64_t Value(const std::string& name, int base, std::uint64_t otherwise) const {
    return Has(name) ? Number(Raw(name), base) : otherwise;
  }
  std::uint32_t Opaque() const {
    return static_cast<std::uint32_t>(Value("opaque", 16, 0x01020304));
  }

  std::uint8_t opcode = 0;
  std::map<std::string, std::string> fields;
};

}  // namespace

std::string EncodePacket(std::string_view text, std::string_view group) {
  const Description wanted(text, group);
  const std::string key = wanted.Bytes("key");
  const std::string extras = FromHex(wanted.Raw("ext"));
  const std::string body = extras + key + wanted.Bytes("val");
  char header[kHeaderBytes];
  char* at = StoreBigEndian(header, static_cast<std::uint8_t>(wanted.Value("magic", 16, 0x80)));
  at = StoreBigEndian(at, wanted.opcode);
  at = StoreBigEndian(at, static_cast<std::uint16_t>(wanted.Value("keylen", 10, key.size())));
  at = StoreBigEndian(at, static_cast<std::uint8_t>(wanted.Value("extlen", 10, extras.size())));
  at = StoreBigEndian(at, static_cast<std::uint8_t>(wanted.Value("type", 10, 0)));
  at = StoreBigEndian(at, static_cast<std::uint16_t>(wanted.Value("vbucket", 10, 0)));
  at = StoreBigEndian(at, static_cast<std::uint32_t>(wanted.Value("body", 10, body.size())));
  at = StoreBigEndian(at, wanted.Opaque());
  StoreBigEndian(at, wanted.Value("cas", 10, 0));
  return std::string(header, sizeof header) + body;
}

std::size_t PacketBytes(std::string_view bytes) {
  if (bytes.size() < kHeaderBytes) return 0;
  return kHeaderBytes + LoadBigEndian<std::uint32_t>(bytes.data() + 8);
}

bool PacketFits(std::string_view reply, std::string_view text, std::string& group) {
  const Description wanted(text, group);
  if (reply.size() < kHeaderBytes || reply.size() != PacketBytes(reply)) return false;
  const char* const header = reply.data();
  const auto key_bytes = LoadBigEndian<std::uint16_t>(header + 2);
  const auto extras_bytes = static_cast<std::uint8_t>(header[4]);
  const auto cas = LoadBigEndian<std::uint64_t>(header + 16);
  std::string_view body = reply.substr(kHeaderBytes);
  if (body.size() < std::size_t{key_bytes} + extras_bytes) return false;
  const std::string_view extras = body.substr(0, extras_bytes);
  const std::string_view key = body.substr(extras_bytes, key_bytes);
  const std::string value(body.substr(std::size_t{extras_bytes} + key_bytes));
  std::string ignored;
  const bool value_fits = wanted.Has("val~") ? Matches(value, wanted.Raw("val~"), ignored)
                                             : value == wanted.Bytes("val");
  const bool any_cas = wanted.Raw("cas") == "*";
  const bool cas_fits = any_cas ? cas != 0 : cas == wanted.Value("cas", 10, 0);
  if (any_cas) group = std::to_string(cas);
  return header[0] == '\x81' && static_cast<std::uint8_t>(header[1]) == wanted.opcode &&
         header[5] == 0 && LoadBigEndian<std::uint16_t>(header + 6) == wanted.Value("st", 16, 0) &&
         LoadBigEndian<std::uint32_t>(header + 12) == wanted.Opaque() &&
         extras == FromHex(wanted.Raw("ext")) && key == wanted.Bytes("key") && value_fits &&
         cas_fits;
}

}  // namespace podcache::transcript
