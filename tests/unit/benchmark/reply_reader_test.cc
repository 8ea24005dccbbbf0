#include "tests/benchmark/load/reply_reader.h"

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::bench {
namespace {

constexpr std::size_t kValueBytes = 12;

ReplyCounts FeedAll(ReplyReader& reader, const std::vector<std::string_view>& pieces) {
  ReplyCounts counts;
  for (const std::string_view piece : pieces) counts += reader.Feed({piece.data(), piece.size()});
  return counts;
}

// Whole, cut at every place, and byte by byte: the counts must be the same.
void ExpectOnEverySplit(const std::function<std::unique_ptr<ReplyReader>()>& make,
                        std::string_view replies, const ReplyCounts& expected) {
  for (std::size_t cut = 0; cut <= replies.size(); ++cut) {
    const auto reader = make();
    EXPECT_EQ(FeedAll(*reader, {replies.substr(0, cut), replies.substr(cut)}), expected) << cut;
  }
  std::vector<std::string_view> bytes;
  for (std::size_t i = 0; i < replies.size(); ++i) bytes.push_back(replies.substr(i, 1));
  const auto reader = make();
  EXPECT_EQ(FeedAll(*reader, bytes), expected);
}

TEST(ReplyScanner, CountsOnEverySplit) {
  // A value that looks like the end of a reply must be jumped over.
  ExpectOnEverySplit(NewReplyScanner,
                     "VALUE a 0 5\r\nEND\r\n\r\nVALUE b 17 0\r\n\r\nEND\r\nEND\r\nSTORED\r\n",
                     {.replies = 3, .values = 2, .stored = 1, .errors = 0});
}

TEST(ReplyScanner, ErrorsOnEverySplit) {
  ExpectOnEverySplit(NewReplyScanner, "NOT_STORED\r\nSERVER_ERROR out of memory\r\nEND\r\n",
                     {.replies = 3, .values = 0, .stored = 0, .errors = 2});
}

TEST(ReplyScanner, RemembersTheFirstError) {
  const auto scanner = NewReplyScanner();
  FeedAll(*scanner, {"END\r\nERROR\r\nNOT_FOUND\r\n"});
  EXPECT_EQ(scanner->complaint(), "the server answered ERROR\r\n");
}

TEST(ReplyScanner, AnnouncedBytes) {
  EXPECT_EQ(AnnouncedBytes("VALUE key 0 128"), 128U);
  EXPECT_EQ(AnnouncedBytes("VALUE key 0 0"), 0U);
  EXPECT_EQ(AnnouncedBytes("VALUE key 0 12x"), 0U);
  EXPECT_EQ(AnnouncedBytes("128"), 0U);
  EXPECT_EQ(AnnouncedBytes(""), 0U);
}

class ReplyCheckerTest : public ::testing::Test {
 protected:
  std::string Key(std::uint64_t item) const {
    std::string key = items_.FirstKey();
    items_.WriteDigits(key.data() + key.size() - Items::kDigits, item);
    return key;
  }
  std::string Value(std::uint64_t item, std::uint32_t variant = 3) const {
    std::string value(kValueBytes, '\0');
    items_.WriteValue(value.data(), value.size(), item, variant);
    return "VALUE " + Key(item) + " 0 " + std::to_string(value.size()) + "\r\n" + value + "\r\n";
  }
  // A get of items 1, 2 and 3, then a set of 4, then a get of 5.
  std::unique_ptr<ReplyReader> Checker() const {
    auto checker = NewReplyChecker(items_, kValueBytes);
    const RequestShape requests[] = {{Verb::kGet, 3}, {Verb::kSet, 1}, {Verb::kGet, 1}};
    const std::uint64_t asked[] = {1, 2, 3, 4, 5};
    checker->Expect({{}, requests, asked});
    return checker;
  }
  std::string ComplaintAbout(const std::string& replies) const {
    const auto checker = Checker();
    const ReplyCounts counts = checker->Feed({replies.data(), replies.size()});
    EXPECT_EQ(counts.errors > 0, !checker->complaint().empty());
    return checker->complaint();
  }

  Items items_{16, 100};
};

TEST_F(ReplyCheckerTest, RightRepliesOnEverySplit) {
  const std::string all =
      Value(1) + Value(2) + Value(3) + "END\r\nSTORED\r\n" + Value(5) + "END\r\n";
  ExpectOnEverySplit([this] { return Checker(); }, all,
                     {.replies = 3, .values = 4, .stored = 1, .errors = 0});
}

TEST_F(ReplyCheckerTest, AnyKeysMayBeMissing) {
  for (int found = 0; found < 8; ++found) {
    std::string replies;
    for (std::uint64_t item = 1; item <= 3; ++item) {
      if ((found >> (item - 1) & 1) != 0) replies += Value(item);
    }
    EXPECT_EQ(ComplaintAbout(replies + "END\r\nSTORED\r\nEND\r\n"), "") << found;
  }
}

TEST_F(ReplyCheckerTest, WhatIsWrong) {
  EXPECT_NE(ComplaintAbout(Value(2) + Value(1) + "END\r\n"), "") << "out of order";
  EXPECT_NE(ComplaintAbout(Value(1) + Value(1) + "END\r\n"), "") << "twice";
  EXPECT_NE(ComplaintAbout(Value(9) + "END\r\n"), "") << "not asked for";
  EXPECT_NE(ComplaintAbout("STORED\r\n"), "") << "another kind of reply";
  EXPECT_NE(ComplaintAbout("END\r\nEND\r\n"), "") << "another kind of reply";
  EXPECT_NE(ComplaintAbout("END\r\nSERVER_ERROR\r\n"), "") << "an error";
  EXPECT_NE(ComplaintAbout("END\r\nSTORED\r\nEND\r\nEND\r\n"), "") << "one more than asked for";
  EXPECT_NE(ComplaintAbout("END\r\n" + Value(4)), "") << "a value for a set";
  std::string damaged = Value(1);
  damaged[damaged.size() - 4] ^= 1;
  EXPECT_NE(ComplaintAbout(damaged), "") << "a wrong value";
  std::string longer = Value(1);
  longer.insert(longer.size() - 2, "x");
  EXPECT_NE(ComplaintAbout(longer), "") << "longer than it says";
  EXPECT_NE(ComplaintAbout("VALUE " + Key(1) + " 0 1\r\na\r\n"), "") << "a shorter value";
}

}  // namespace
}  // namespace podcache::bench
