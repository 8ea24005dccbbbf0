// The parser of meta lines alone. The replies to whole conversations are tested by the transcripts.
#include "server/protocol/meta_parser.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

namespace podcache::protocol {
namespace {

struct Parsed {
  explicit Parsed(const std::string& text) : line(text + "\r\n") {
    result = MetaParser::Parse(line, request, key_buffer);
  }
  std::string line;
  MetaRequest request;
  KeyBuffer key_buffer{};
  ParseResult result;
};

void ExpectFine(const std::string& line) {
  EXPECT_EQ(Parsed(line).result.status, ParseStatus::kRequest) << line;
}

void ExpectError(const std::string& line, Reply error, std::uint64_t skip_bytes = 0) {
  const Parsed parsed(line);
  ASSERT_EQ(parsed.result.status, ParseStatus::kError) << line;
  EXPECT_EQ(Text(parsed.result.error), Text(error)) << line;
  EXPECT_EQ(parsed.result.skip_bytes, skip_bytes) << line;
}

std::string Repeat(std::string_view text, std::size_t n) {
  std::string out;
  for (std::size_t i = 0; i < n; ++i) out += text;
  return out;
}

TEST(MetaParserTest, EveryFlagOfEveryKind) {
  const Parsed parsed(
      "ms key 12 T-5 N30 R2147483647 F4294967295 C18446744073709551615 E7 D8 J9 MA O12 k");
  ASSERT_EQ(parsed.result.status, ParseStatus::kRequest);
  const MetaRequest& request = parsed.request;
  EXPECT_EQ(request.verb, MetaVerb::kSet);
  EXPECT_EQ(request.key, "key");
  EXPECT_EQ(request.value_bytes, 12U);
  EXPECT_EQ(request.exptime, -5);
  EXPECT_EQ(request.vivify_exptime, 30);
  EXPECT_EQ(request.recache_exptime, 2147483647);
  EXPECT_EQ(request.client_flags, 4294967295U);
  EXPECT_EQ(request.compare_cas, 18446744073709551615U);
  EXPECT_EQ(request.set_cas, 7U);
  EXPECT_EQ(request.delta, 8U);
  EXPECT_EQ(request.initial, 9U);
  EXPECT_EQ(request.mode, 'A');
  EXPECT_EQ(request.opaque, "12");
  EXPECT_EQ(request.flags.order(), "TNRFCEDJMOk");
  EXPECT_TRUE(request.flags.InOrder('T', 'N'));
  EXPECT_FALSE(request.flags.InOrder('N', 'T'));
  EXPECT_FALSE(request.flags.InOrder('T', 'v'));
  EXPECT_FALSE(request.quiet());
}

TEST(MetaParserTest, DefaultsWithoutFlags) {
  const Parsed parsed("ma key");
  EXPECT_EQ(parsed.request.delta, 1U);
  EXPECT_EQ(parsed.request.initial, 0U);
  EXPECT_EQ(parsed.request.mode, '\0');
  EXPECT_EQ(parsed.request.flags.order(), "");
}

TEST(MetaParserTest, LineEndsAndSpaces) {
  for (const char* line : {"mg k v\n", "mg k v\r\n", "mg   k   v   \r\n"}) {
    MetaRequest request;
    KeyBuffer buffer;
    EXPECT_EQ(MetaParser::Parse(line, request, buffer).status, ParseStatus::kRequest);
    EXPECT_EQ(request.key, "k");
    EXPECT_EQ(request.flags.order(), "v");
  }
}

TEST(MetaParserTest, EveryLetter) {
  constexpr std::string_view kKnown = "bcfhklqstuvxCDEFIJLMNOPRT";
  for (int byte = 1; byte < 256; ++byte) {
    const char c = static_cast<char>(byte);
    if (c == ' ' || c == '\n' || c == '\r' || kKnown.find(c) != kKnown.npos) continue;
    const bool readable = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'z');
    ExpectError(std::string("mg k ") + c, readable ? Reply::kMetaInvalidFlag : Reply::kBadFormat);
  }
  for (const char c : kKnown) {
    const std::string flag = std::string(1, c) + (c == 'O' ? "x" : "1");
    if (c == 'b') continue;
    ExpectFine("mg k " + flag);
    ExpectError("mg k " + flag + " " + flag, Reply::kMetaDuplicateFlag);
    ExpectError("ma k " + flag + " " + flag, Reply::kMetaInvalidOrDuplicateFlag);
  }
}

TEST(MetaParserTest, TwentyWords) {
  const std::string flags = " v s t c f h l k q u x I P L D1 J1 N1 R1";  // 18
  ExpectFine("mg k" + flags.substr(0, flags.size() - 3));
  ExpectFine("mg k" + flags);
  ExpectError("mg k" + flags + " T1", Reply::kMetaTooManyFlags);
  ExpectError("ms k 2" + flags, Reply::kMetaTooManyFlags, 4);
  ExpectFine("ms k 2" + flags.substr(0, flags.size() - 3));
  ExpectError("ma k" + flags + " T1", Reply::kMetaInvalidOrDuplicateFlag);
  ExpectError("mg k" + Repeat(" v", 900), Reply::kMetaTooManyFlags);
  ExpectError("mg k" + flags + Repeat(" v", 900), Reply::kMetaTooManyFlags);
}

TEST(MetaParserTest, OpaquesAtTheirLimit) {
  for (const std::size_t bytes : {0, 1, 30, 31}) {
    const Parsed parsed("mg k O" + Repeat("x", bytes));
    EXPECT_EQ(parsed.result.status, ParseStatus::kRequest);
    EXPECT_EQ(parsed.request.opaque.size(), bytes);
  }
  for (const char* verb : {"mg k", "md k", "ma k"}) {
    ExpectError(verb + (" O" + Repeat("x", 32)), Reply::kMetaOpaqueTooLong);
  }
  ExpectError("ms k 3 O" + Repeat("x", 32), Reply::kMetaOpaqueTooLong, 5);
}

TEST(MetaParserTest, KeysAtTheirLimit) {
  for (const std::size_t bytes : {1, 249, 250}) ExpectFine("mg " + Repeat("k", bytes));
  for (const char* verb : {"mg ", "md ", "me "})
    ExpectError(verb + Repeat("k", 251), Reply::kBadFormat);
  ExpectError("ms " + Repeat("k", 251) + " 7", Reply::kBadFormat, 9);
  ExpectError("ma " + Repeat("k", 251), Reply::kMetaInvalidOrDuplicateFlag);
}

TEST(MetaParserTest, Base64Keys) {
  const Parsed parsed("mg aGk= k b v");
  EXPECT_EQ(parsed.request.key, "hi");
  EXPECT_EQ(parsed.request.key.data(), parsed.key_buffer.data());
  EXPECT_TRUE(parsed.request.binary_key());
  // The longest one: 248 letters.
  EXPECT_EQ(Parsed("mg " + Repeat("AAAA", 62) + " b").request.key, std::string(186, '\0'));
  ExpectError("mg " + Repeat("AAAA", 63) + " b", Reply::kBadFormat);
  ExpectError("mg " + Repeat("A", 250) + " b", Reply::kMetaBadKey);
  ExpectError("mg a b", Reply::kMetaBadKey);
  ExpectError("ma a b", Reply::kMetaInvalidOrDuplicateFlag);
  EXPECT_EQ(Parsed("me aGk= b").request.key, "hi");
  EXPECT_EQ(Parsed("me aGk= v b").request.key, "aGk=");
  ExpectError("me hi b", Reply::kBadFormat);
}

TEST(MetaParserTest, NumbersAtTheirLimits) {
  for (const char letter : {'N', 'R', 'T'}) {
    const std::string start = std::string("mg k ") + letter;
    for (const char* fine : {"0", "-1", "2147483647", "-2147483648", "00000000001"})
      ExpectFine(start + fine);
    for (const char* wrong : {"", "-", "+1", "2147483648", "-2147483649", "1.5", "1a", "a1",
                              "000000000001", "99999999999999999999"})
      ExpectError(start + wrong, Reply::kMetaBadToken);
  }
  for (const auto& [letter, error] :
       {std::pair{'C', Reply::kMetaBadToken}, std::pair{'E', Reply::kMetaBadToken},
        std::pair{'D', Reply::kMetaBadDelta}, std::pair{'J', Reply::kMetaBadInitial}}) {
    const std::string start = std::string("mg k ") + letter;
    for (const char* fine : {"0", "18446744073709551615", "0000000000000000000001"})
      ExpectFine(start + fine);
    for (const char* wrong :
         {"", "-1", "+1", "18446744073709551616", "1a", "00000000000000000000001"})
      ExpectError(start + wrong, error);
  }
  for (const char* fine : {"F0", "F4294967295"}) ExpectFine(std::string("mg k ") + fine);
  for (const char* wrong : {"F", "F-1", "F+1", "F4294967296", "Fx"})
    ExpectError(std::string("mg k ") + wrong, Reply::kBadFormat);
}

TEST(MetaParserTest, LengthsAtTheirLimits) {
  for (const char* fine : {"0", "02", "2147483645"}) ExpectFine(std::string("ms k ") + fine);
  for (const char* wrong : {"", "-1", "+1", "2147483646", "2147483648", "99999999999999", "2a"})
    ExpectError(std::string("ms k ") + wrong, Reply::kBadFormat);
  // Then the block is known, and belongs to the refused request.
  ExpectError("ms k 0 z", Reply::kMetaInvalidFlag, 2);
  ExpectError("ms k 2147483645 z", Reply::kMetaInvalidFlag, 2147483647);
}

TEST(MetaParserTest, Modes) {
  for (const char mode : std::string_view("SEAPR")) ExpectFine(std::string("ms k 2 M") + mode);
  for (const char mode : std::string_view("I+D-")) ExpectFine(std::string("ma k M") + mode);
  for (const char* mode : {"", "s", "I", "Z"})
    ExpectError(std::string("ms k 2 M") + mode, Reply::kMetaBadSetMode, 4);
  for (const char* mode : {"", "i", "S", "Z"})
    ExpectError(std::string("ma k M") + mode, Reply::kMetaBadArithmeticMode);
  for (const char* line : {"mg k M", "md k MZ", "mg k MSS", "ms k 2 MSX"}) ExpectFine(line);
}

TEST(MetaParserTest, WhichErrorIsToldOf) {
  ExpectError("mg k Na Da", Reply::kMetaBadDelta);
  ExpectError("mg k Da Na", Reply::kMetaBadToken);
  ExpectError("mg k Na Fa", Reply::kMetaBadToken);
  ExpectError("mg !!! b Fa", Reply::kMetaBadKey);
  ExpectError("mg !!! Na b", Reply::kMetaBadKey);
  ExpectError("mg k Na z", Reply::kMetaInvalidFlag);
  ExpectError("mg k v v z", Reply::kMetaDuplicateFlag);
  ExpectError("mg k z *", Reply::kBadFormat);
  ExpectError("ma k z *", Reply::kBadFormat);
  ExpectError("ms k 2 MZ Na", Reply::kMetaBadToken, 4);
  ExpectError("ms k 2 MZ O" + Repeat("x", 32), Reply::kMetaBadSetMode, 4);
}

TEST(MetaParserTest, TooFewArguments) {
  for (const char* line : {"mg", "ms", "ms k", "md", "ma", "me", "mg ", "ms k "})
    ExpectError(line, Reply::kBadFormat);
  ExpectFine("mn");
  ExpectFine("mn * z z");
}

}  // namespace
}  // namespace podcache::protocol
