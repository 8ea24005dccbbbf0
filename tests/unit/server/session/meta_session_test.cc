// Meta commands through the session: counts, and one winner for each lease however many ask.
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using metrics::Counter;
using testing::Connection;
using testing::Harness;

int CountLines(std::string_view text, std::string_view line) {
  int count = 0;
  for (std::size_t at = 0; (at = text.find(line, at)) != text.npos; at += line.size()) ++count;
  return count;
}

TEST(MetaSessionTest, CountsCommandsErrorsAndLeases) {
  Harness harness;
  Connection connection(harness);
  connection.Receive(
      "mg k N30\r\nmg k\r\nms k 1 T60\r\n1\r\nmg k R90\r\nmg k\r\nmd k I\r\nmg k\r\nmg k\r\nmg "
      "k\r\n"
      "get k\r\nme k\r\nmg k z\r\nms k 1 z\r\n1\r\nms k 1\r\n123\nmn\r\n");
  EXPECT_EQ(harness.Count(Counter::kVivifyWins), 1U);
  EXPECT_EQ(harness.Count(Counter::kVivifyWaits), 1U);
  EXPECT_EQ(harness.Count(Counter::kRecacheWins), 1U);
  EXPECT_EQ(harness.Count(Counter::kRecacheWaits), 1U);
  EXPECT_EQ(harness.Count(Counter::kStaleWins), 1U);
  EXPECT_EQ(harness.Count(Counter::kStaleWaits), 2U);
  EXPECT_EQ(harness.Count(Counter::kCmdMeta), 1U) << "me only, as in memcached";
  EXPECT_EQ(harness.Count(Counter::kMetaErrors), 3U);
  EXPECT_EQ(harness.Count(Counter::kMetaCommands), 12U) << "those with a fine line";
  EXPECT_EQ(harness.Count(Counter::kCmdGet), 8U);
  EXPECT_EQ(harness.Count(Counter::kGetHits), 8U);
  EXPECT_EQ(harness.Count(Counter::kCmdSet), 2U);
}

TEST(MetaSessionTest, AHitWithTCountsAsTouch) {
  Harness harness;
  harness.Ask("ms k 1\r\n1\r\nmg k T30\r\nmg none T30\r\nmd k\r\nmd k\r\nmd k I\r\n");
  EXPECT_EQ(harness.Count(Counter::kCmdTouch), 1U);
  EXPECT_EQ(harness.Count(Counter::kTouchHits), 1U);
  EXPECT_EQ(harness.Count(Counter::kCmdGet), 1U);
  EXPECT_EQ(harness.Count(Counter::kGetMisses), 1U);
  EXPECT_EQ(harness.Count(Counter::kDeleteHits), 1U);
  EXPECT_EQ(harness.Count(Counter::kDeleteMisses), 2U);
}

TEST(MetaSessionTest, AnInterruptedSetLeavesTheNextOneAlone) {
  Harness harness;
  {
    Connection one(harness);
    Connection two(harness);
    one.Receive("ms aa 4 k O1\r\nab");
    two.Receive("ms bb 4 k O2\r\ncd");
    EXPECT_EQ(one.Receive("cd\r\n"), "HD kaa O1\r\n");
    one.Receive("ms cc 4\r\n");
    EXPECT_EQ(two.Receive("ef\r\n"), "HD kbb O2\r\n");
  }
  EXPECT_EQ(harness.Ask("mg cc\r\nmg bb v\r\n"), "EN\r\nVA 4\r\ncdef\r\n");
}

TEST(MetaSessionTest, LargeValuesAreSentFromWhereTheyLie) {
  Harness harness;
  Connection connection(harness);
  const std::string value(300'000, 'v');
  EXPECT_EQ(connection.Receive("ms k 300000 s k\r\n" + value + "\r\n"), "HD s300000 kk\r\n");
  EXPECT_EQ(connection.Receive("mg none\r\nmg k v O1\r\nmg k s\r\n"),
            "EN\r\nVA 300000 O1\r\n" + value + "\r\nHD s300000\r\n");
}

class MetaRaceTest : public ::testing::Test {
 protected:
  static constexpr int kThreads = 8;
  static constexpr int kKeys = 10'000;
  static constexpr int kBatch = 50;

  // Every thread sends the request for every key, some in each write. Returns all answers.
  std::string AskAll(const std::function<std::string(int)>& request) {
    std::vector<std::string> answers(kThreads);
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] {
        const std::unique_ptr<net::WorkerHandler> worker = harness_.factory->NewWorker();
        Connection connection(*worker);
        std::string& mine = answers[static_cast<std::size_t>(i)];
        for (int key = 0; key < kKeys; key += kBatch) {
          std::string requests;
          for (int k = key; k < key + kBatch; ++k) requests += request(k);
          mine += connection.Receive(requests);
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    std::string all;
    for (const std::string& answer : answers) all += answer;
    return all;
  }

  void SetAll(const std::string& flags) {
    Connection connection(harness_);
    for (int key = 0; key < kKeys; ++key) {
      connection.Receive("ms k" + std::to_string(key) + " 1 q" + flags + "\r\n1\r\n");
    }
  }

  Harness harness_;
};

TEST_F(MetaRaceTest, OneWinnerForEachMissingItem) {
  const std::string answers =
      AskAll([](int key) { return "mg k" + std::to_string(key) + " N30\r\n"; });
  EXPECT_EQ(CountLines(answers, "HD W\r\n"), kKeys);
  EXPECT_EQ(CountLines(answers, "HD Z\r\n"), (kThreads - 1) * kKeys);
  EXPECT_EQ(harness_.Count(Counter::kVivifyWins), std::uint64_t{kKeys});
  EXPECT_EQ(harness_.Count(Counter::kVivifyWaits), std::uint64_t{(kThreads - 1) * kKeys});
}

TEST_F(MetaRaceTest, OneWinnerForEachStaleItem) {
  SetAll("");
  Connection connection(harness_);
  for (int key = 0; key < kKeys; ++key)
    connection.Receive("md k" + std::to_string(key) + " I q\r\n");
  const std::string answers = AskAll([](int key) { return "mg k" + std::to_string(key) + "\r\n"; });
  EXPECT_EQ(CountLines(answers, "HD X W\r\n"), kKeys);
  EXPECT_EQ(CountLines(answers, "HD Z X\r\n"), (kThreads - 1) * kKeys);
}

TEST_F(MetaRaceTest, OneWinnerForEachItemThatIsAboutToExpire) {
  SetAll(" T30");
  const std::string answers =
      AskAll([](int key) { return "mg k" + std::to_string(key) + " R60\r\n"; });
  EXPECT_EQ(CountLines(answers, "HD W\r\n"), kKeys);
  EXPECT_EQ(CountLines(answers, "HD Z\r\n"), (kThreads - 1) * kKeys);
}

TEST_F(MetaRaceTest, NoIncrementIsLostWhoeverCreates) {
  AskAll([](int key) { return "ma n" + std::to_string(key % 100) + " N0 J0 q\r\n"; });
  std::uint64_t sum = 0;
  Connection connection(harness_);
  for (int key = 0; key < 100; ++key) {
    const std::string reply = connection.Receive("get n" + std::to_string(key) + "\r\n");
    sum += std::stoull(reply.substr(reply.find('\n') + 1));
  }
  // One of the requests for each number created it as 0.
  EXPECT_EQ(sum, std::uint64_t{kThreads * kKeys - 100});
}

TEST_F(MetaRaceTest, AppendsThatCreateLoseNothing) {
  AskAll([](int key) { return "ms log" + std::to_string(key % 500) + " 1 MA N0 q\r\nx\r\n"; });
  Connection connection(harness_);
  for (int key = 0; key < 500; ++key) {
    EXPECT_EQ(connection.Receive("mg log" + std::to_string(key) + " s\r\n"),
              "HD s" + std::to_string(kThreads * kKeys / 500) + "\r\n");
  }
}

}  // namespace
}  // namespace podcache
