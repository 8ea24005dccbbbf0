// What transcripts cannot show of the binary protocol: options of the server, budgets, counts, many
// connections at once.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/unit/server/session/packets.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using metrics::Counter;
using testing::Connection;
using testing::ExpectReplies;
using testing::Harness;
using testing::Packets;
using testing::Split;

TEST(BinarySession, AForbiddenFlushIsAnAuthFailureAndCounts) {
  command::CommandOptions options;
  options.flush_enabled = false;
  Harness harness(options);
  ExpectReplies(harness.Ask(Packets({"01 key=a ext=00000000.00000000 val=v", "08", "18",
                                     "18 ext=00000001", "09 key=a"})),
                {"01 cas=*", "08 st=20 val=Auth\\x20failure.", "18 st=20 val=Auth\\x20failure.",
                 "18 st=20 val=Auth\\x20failure.", "09 ext=00000000 val=v cas=*"});
  EXPECT_EQ(harness.Count(Counter::kCmdFlush), 3u);
}

// Seen on memcached 1.6.45 -C.
TEST(BinarySession, WithoutCasIdsWritesCompareNothing) {
  store::StoreOptions store = Harness::DefaultStore();
  store.cas = false;
  Harness harness({}, store);
  ExpectReplies(
      harness.Ask(Packets({"01 key=a ext=00000007.00000000 val=5",
                           "01 key=a ext=00000007.00000000 val=6 cas=99",
                           "01 key=b ext=00000007.00000000 val=6 cas=99",
                           "02 key=a ext=00000007.00000000 val=7 cas=99", "0e key=a val=1 cas=99",
                           "05 key=a ext=0000000000000001.0000000000000001.00000000 cas=99",
                           "04 key=a cas=99", "00 key=a", "1c key=a ext=00000000"})),
      {"01", "01", "01", "02 st=2 val=Data\\x20exists\\x20for\\x20key.", "0e",
       "05 st=2 val=Data\\x20exists\\x20for\\x20key.",
       "04 st=2 val=Data\\x20exists\\x20for\\x20key.", "00 ext=00000007 val=61",
       "1c ext=00000007"});
}

TEST(BinarySession, CountsAsMemcachedDoes) {
  Harness harness;
  const auto added = [&](std::string_view packet, std::vector<Counter> counters) {
    std::vector<std::uint64_t> before;
    for (const Counter counter : counters) before.push_back(harness.Count(counter));
    harness.Ask(Packets({packet}));
    for (std::size_t i = 0; i < counters.size(); ++i) {
      EXPECT_EQ(harness.Count(counters[i]), before[i] + 1) << packet << " " << i;
    }
  };
  added("05 key=n ext=0000000000000001.0000000000000005.ffffffff", {Counter::kIncrMisses});
  added("01 key=n ext=00000000.00000000 val=1", {Counter::kCmdSet});
  added("05 key=n ext=0000000000000001.0000000000000005.00000000", {Counter::kIncrHits});
  added("16 key=n ext=0000000000000001.0000000000000005.00000000", {Counter::kDecrHits});
  added("01 key=n ext=00000000.00000000 val=1 cas=1", {Counter::kCmdSet, Counter::kCasBadval});
  added("01 key=x ext=00000000.00000000 val=1 cas=1", {Counter::kCmdSet, Counter::kCasMisses});
  added("0e key=n val=1", {Counter::kCmdSet});
  added("0d key=n", {Counter::kCmdGet, Counter::kGetHits});
  added("0d key=x", {Counter::kCmdGet, Counter::kGetMisses});
  added("1c key=n ext=00000000", {Counter::kCmdTouch, Counter::kTouchHits});
  added("1d key=n ext=00000000", {Counter::kCmdTouch, Counter::kTouchHits});
  added("1c key=x ext=00000000", {Counter::kCmdTouch, Counter::kTouchMisses});
  added("04 key=x", {Counter::kDeleteMisses});
  added("04 key=n", {Counter::kDeleteHits});
  added("30", {Counter::kBinaryCommands, Counter::kBinaryErrors});
  added("0a key=a", {Counter::kBinaryErrors});
  // A number that is created counts neither way.
  const std::uint64_t hits = harness.Count(Counter::kIncrHits);
  const std::uint64_t misses = harness.Count(Counter::kIncrMisses);
  harness.Ask(Packets({"05 key=m ext=0000000000000001.0000000000000005.00000000"}));
  EXPECT_EQ(harness.Count(Counter::kIncrHits), hits);
  EXPECT_EQ(harness.Count(Counter::kIncrMisses), misses);
  EXPECT_EQ(harness.Count(Counter::kTextCommands), 0u);
}

TEST(BinarySession, AValueWithoutMemoryIsRefusedAndSwallowed) {
  store::StoreOptions store = Harness::DefaultStore();
  store.evictions = false;
  store.memory_limit_bytes = 8 << 20;
  Harness harness({}, store);
  Connection connection(harness);
  std::string reply;
  int stored = 0;
  for (; stored < 100; ++stored) {
    reply = connection.Receive(Packets(
        {"01 key=k" + std::to_string(stored) + " ext=00000000.00000000 val={0123456789*50000}"}));
    if (Split(reply).front()[7] != 0) break;
  }
  ExpectReplies(reply, {"01 st=82 val=Out\\x20of\\x20memory"});
  EXPECT_GT(stored, 3);
  ExpectReplies(connection.Receive(Packets({"0a"})), {"0a"});
  EXPECT_GT(harness.Count(Counter::kStoreNoMemory), 0u);
}

TEST(BinarySession, LargeValuesComeStraightIntoTheItem) {
  Harness harness;
  Connection connection(harness);
  const std::string packet =
      Packets({"01 key=a ext=00000000.00000000 val={0123456789*50000}", "0a"});
  std::string replies = connection.Receive(std::string_view(packet).substr(0, 1000));
  EXPECT_FALSE(connection.AtRequestBoundary());
  replies += connection.Receive(std::string_view(packet).substr(1000));
  ExpectReplies(replies, {"01 cas=*", "0a"});
  EXPECT_GT(connection.direct_bytes(), 400'000u);
}

TEST(BinarySession, ABatchYieldsToOthers) {
  Harness harness;
  Connection connection(harness);
  connection.Receive(Packets({"11 key=a ext=00000000.00000000 val={0123456789*1000}"}));
  std::string gets;
  constexpr int kGets = 600;
  for (int i = 0; i < kGets; ++i) gets += Packets({"09 key=a"});
  const std::vector<std::string> replies = Split(connection.Receive(gets + Packets({"0a"})));
  EXPECT_EQ(replies.size(), kGets + 1u);
  EXPECT_GT(connection.yields(), 10);
  // The budget, one batch of values, and nothing more.
  EXPECT_LT(connection.peak_output_bytes(), (256u << 10) + 16 * 10'100);
}

TEST(BinarySession, CreatingIncrementsOfManyConnectionsLoseNothing) {
  constexpr int kClients = 8;
  constexpr int kKeys = 2000;
  Harness harness;
  std::vector<std::thread> threads;
  for (int i = 0; i < kClients; ++i) {
    threads.emplace_back([&harness] {
      const std::unique_ptr<net::WorkerHandler> worker = harness.factory->NewWorker();
      Connection connection(*worker);
      for (int key = 0; key < kKeys; ++key) {
        const std::vector<std::string> replies =
            Split(connection.Receive(Packets({"05 key=n" + std::to_string(key) +
                                              " ext=0000000000000001.0000000000000000.00000000"})));
        ASSERT_EQ(replies.size(), 1u);
        ASSERT_EQ(replies[0].substr(6, 2), std::string(2, '\0'));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (int key = 0; key < kKeys; ++key) {
    EXPECT_EQ(harness.Ask("get n" + std::to_string(key) + "\r\n"),
              "VALUE n" + std::to_string(key) + " 0 1\r\n7\r\nEND\r\n");
  }
}

}  // namespace
}  // namespace podcache
