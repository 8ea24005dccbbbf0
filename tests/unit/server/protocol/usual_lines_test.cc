#include "server/protocol/usual_lines.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "server/protocol/text_parser.h"

namespace podcache::protocol {
namespace {

using namespace std::string_view_literals;

// What TextParser says of a line that was taken for a usual get.
void ExpectSameGet(const std::string& input, std::string_view key, std::size_t consumed) {
  Request request;
  const ParseResult parsed = TextParser::Parse(input, request);
  ASSERT_EQ(parsed.status, ParseStatus::kKeys) << input;
  EXPECT_EQ(request.verb, Verb::kGet);
  const KeyResult next = TextParser::NextKey(std::string_view(input).substr(parsed.consumed));
  ASSERT_EQ(next.status, KeyStatus::kLastKey) << input;
  EXPECT_EQ(next.key, key);
  EXPECT_EQ(parsed.consumed + next.consumed, consumed);
}

void ExpectSameSet(const std::string& input, const Request& taken, std::size_t consumed) {
  Request request;
  const ParseResult parsed = TextParser::Parse(input, request);
  ASSERT_EQ(parsed.status, ParseStatus::kRequest) << input;
  EXPECT_EQ(parsed.consumed, consumed);
  EXPECT_EQ(request.verb, taken.verb);
  EXPECT_EQ(request.key, taken.key);
  EXPECT_EQ(request.arguments, taken.arguments);
  EXPECT_EQ(request.client_flags, taken.client_flags);
  EXPECT_EQ(request.exptime, taken.exptime);
  EXPECT_EQ(request.value_bytes, taken.value_bytes);
  EXPECT_EQ(request.number, taken.number);
  EXPECT_EQ(request.noreply, taken.noreply);
}

// All, on whatever bytes. True when one of them took something.
bool Compare(const std::string& input) {
  std::string_view key = "untouched";
  const std::size_t got = TakeUsualGet(input, key);
  if (got != 0) {
    ExpectSameGet(input, key, got);
  } else {
    EXPECT_EQ(key, "untouched");
  }
  std::string_view one_of_many = "untouched";
  const std::size_t one = TakeUsualKey(input, one_of_many);
  if (one != 0) {
    const KeyResult next = TextParser::NextKey(input);
    EXPECT_EQ(next.status, KeyStatus::kKey) << input;
    EXPECT_EQ(next.key, one_of_many);
    EXPECT_EQ(next.consumed, one);
  } else {
    EXPECT_EQ(one_of_many, "untouched");
  }
  Request request;
  const std::size_t stored = TakeUsualSet(input, request);
  if (stored != 0) {
    ExpectSameSet(input, request, stored);
  } else {
    EXPECT_TRUE(request.key.empty());
  }
  return got + one + stored != 0;
}

TEST(UsualLinesTest, TakesWhatNearlyAllTrafficConsistsOf) {
  for (const char* const line :
       {"get k\r\n", "get k\n", "get memtier-12345\r\nget other\r\n", "set k 0 0 1\r\nx\r\n",
        " k k\r\n", " some-longer-key ", "set memtier-1 4294967 999999999 128\r\n",
        "set k 000000000 0 000000009\r\n"}) {
    EXPECT_TRUE(Compare(line)) << line;
  }
  EXPECT_TRUE(Compare("get " + std::string(kMaxKeyBytes, 'k') + "\r\n"));
  EXPECT_TRUE(Compare("get " + std::string(kMaxKeyBytes, 'k') + "\n"));
  EXPECT_TRUE(Compare("set " + std::string(kMaxKeyBytes, 'k') + " 0 0 1\r\n"));
  EXPECT_TRUE(Compare(" " + std::string(kMaxKeyBytes, 'k') + " k\r\n"));
}

TEST(UsualLinesTest, LeavesTheRestToTheParser) {
  for (const char* const line : {"",
                                 "g",
                                 "get",
                                 "get ",
                                 "get k",
                                 "get k\r",
                                 "get \r\n",
                                 "get  k\r\n",
                                 "get k \r\n",
                                 "get k k\r\n",
                                 "gets k\r\n",
                                 "GET k\r\n",
                                 "set k 0 0 1",
                                 "set k 0 0 1\r",
                                 "set k 0 0 1\n",
                                 "set k 0 0 1 noreply\r\n",
                                 "set k 0 0 -1\r\n",
                                 "set k -1 0 1\r\n",
                                 "set k 0 +1 1\r\n",
                                 "set k 0 0 1234567890\r\n",
                                 "set k 0 0 \r\n",
                                 "set  k 0 0 1\r\n",
                                 "set k 0 0\r\n",
                                 "set k\r\n",
                                 "set \r\n",
                                 "set k  0 0 1\r\n",
                                 "cas k 0 0 1 1\r\n",
                                 "set k 0 0 1\r\r\n",
                                 " k",
                                 " k\r\n",
                                 "  k k",
                                 " "}) {
    EXPECT_FALSE(Compare(line)) << line;
  }
  EXPECT_FALSE(Compare("get " + std::string(kMaxKeyBytes + 1, 'k') + "\r\n"));
  EXPECT_FALSE(Compare("set " + std::string(kMaxKeyBytes + 1, 'k') + " 0 0 1\r\n"));
  EXPECT_FALSE(Compare(" " + std::string(kMaxKeyBytes + 1, 'k') + " k\r\n"));
}

TEST(UsualLinesTest, EveryCutOfALineIsLeftToTheParser) {
  for (const std::string line : {"get key\r\n", "set key 1 2 3\r\n"}) {
    for (std::size_t n = 0; n < line.size(); ++n) EXPECT_FALSE(Compare(line.substr(0, n)));
  }
}

TEST(UsualLinesTest, AgreesWithTheParserOnMutatedLines) {
  std::mt19937 random(11);
  const std::vector<std::string> seeds = {"get k\r\n", "get some-longer-key:1234567\r\n",
                                          " some-longer-key:123 other\r\n", "set k 0 0 10\r\n",
                                          "set some-key 12 34 56 noreply\r\n"};
  constexpr std::string_view kBytes = " \r\n\t\0k0159-+sgetn"sv;
  int taken = 0;
  for (int round = 0; round < 200'000; ++round) {
    std::string line = seeds[random() % seeds.size()];
    for (unsigned edits = random() % 4; edits > 0; --edits) {
      const std::size_t at = random() % line.size();
      const char byte = kBytes[random() % kBytes.size()];
      switch (random() % 3) {
        case 0:
          line[at] = byte;
          break;
        case 1:
          line.insert(at, 1 + random() % 3, byte);
          break;
        default:
          if (line.size() > 1) line.erase(at, 1);
      }
    }
    taken += Compare(line) ? 1 : 0;
    if (HasFailure()) return;
  }
  EXPECT_GT(taken, 50'000);
}

}  // namespace
}  // namespace podcache::protocol
