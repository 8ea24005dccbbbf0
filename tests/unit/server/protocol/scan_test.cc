#include "server/protocol/scan.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace podcache::protocol {
namespace {

constexpr auto kNpos = std::string_view::npos;

TEST(ScanTest, FindsTheFirstSeparatorAtEveryPositionAndLength) {
  for (std::size_t size = 0; size <= 40; ++size) {
    EXPECT_EQ(FindSeparator(std::string(size, 'k')), kNpos);
    for (std::size_t at = 0; at < size; ++at) {
      for (const char separator : {' ', '\n'}) {
        std::string text(size, 'k');
        text[at] = separator;
        EXPECT_EQ(FindSeparator(text), at);
        // Another one behind must not be taken for the first.
        if (at + 1 < size) text[at + 1] = separator == ' ' ? '\n' : ' ';
        EXPECT_EQ(FindSeparator(text), at);
      }
    }
  }
}

// Bytes next to the separators in value, and those with the high bit, are ordinary ones.
TEST(ScanTest, NoOtherByteSeparates) {
  for (int byte = 0; byte < 256; ++byte) {
    if (byte == ' ' || byte == '\n') continue;
    std::string text(16, static_cast<char>(byte));
    EXPECT_EQ(FindSeparator(text), kNpos) << byte;
    text[13] = ' ';
    EXPECT_EQ(FindSeparator(text), 13U) << byte;
  }
}

TEST(ScanTest, TakesTokensOneByOne) {
  std::string_view line = "  set  a 0 ";
  EXPECT_EQ(TakeToken(line), "set");
  EXPECT_EQ(TakeToken(line), "a");
  EXPECT_EQ(TakeToken(line), "0");
  EXPECT_EQ(TakeToken(line), "");
  EXPECT_EQ(TakeToken(line), "");
}

TEST(ScanTest, LastToken) {
  EXPECT_EQ(LastToken(""), "");
  EXPECT_EQ(LastToken("   "), "");
  EXPECT_EQ(LastToken("noreply"), "noreply");
  EXPECT_EQ(LastToken(" a b  noreply  "), "noreply");
  EXPECT_EQ(LastToken(" xnoreply"), "xnoreply");
}

TEST(ScanTest, Newline) {
  EXPECT_EQ(FindNewline(""), kNpos);
  EXPECT_EQ(FindNewline("a\r"), kNpos);
  EXPECT_EQ(FindNewline("a\r\n\n"), 2U);
}

}  // namespace
}  // namespace podcache::protocol
