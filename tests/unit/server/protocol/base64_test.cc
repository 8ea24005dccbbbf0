#include "server/protocol/base64.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace podcache::protocol {
namespace {

std::optional<std::string> Decode(std::string_view text) {
  std::vector<char> buffer(text.size() / 4 * 3);  // Exactly what may be written.
  const std::optional<std::size_t> bytes = DecodeBase64(text, buffer.data());
  if (!bytes) return std::nullopt;
  return std::string(buffer.data(), *bytes);
}

std::string Encode(std::string_view bytes) {
  std::vector<char> buffer(Base64Bytes(bytes.size()));
  const char* const end = EncodeBase64(bytes, buffer.data());
  EXPECT_EQ(end, buffer.data() + buffer.size());
  return {buffer.begin(), buffer.end()};
}

// RFC 4648, section 10.
TEST(Base64Test, Examples) {
  const std::vector<std::pair<std::string, std::string>> examples = {
      {"f", "Zg=="},        {"fo", "Zm8="},        {"foo", "Zm9v"},
      {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
  for (const auto& [bytes, text] : examples) {
    EXPECT_EQ(Encode(bytes), text);
    EXPECT_EQ(Decode(text), bytes);
  }
  EXPECT_EQ(Encode(""), "");
}

TEST(Base64Test, EveryByteAndLengthComesBack) {
  std::string bytes;
  for (int i = 0; i < 256; ++i) {
    bytes += static_cast<char>(i);
    EXPECT_EQ(Decode(Encode(bytes)), bytes);
  }
}

TEST(Base64Test, WhatIsNoBase64) {
  for (const char* text : {"", "a", "aa", "aaa", "====", "=", "a===", "YQ=", "YQ==YQ==", "=YQ=",
                           "Y=Q=", "YQ==a", "-_-_", "a b=", "\xff\xff\xff\xff", "Zg\n="}) {
    EXPECT_EQ(Decode(text), std::nullopt) << text;
  }
}

TEST(Base64Test, BitsBehindTheLastByteAreIgnored) {
  EXPECT_EQ(Decode("YR=="), "a");
  EXPECT_EQ(Decode("aGl="), "hi");
}

}  // namespace
}  // namespace podcache::protocol
