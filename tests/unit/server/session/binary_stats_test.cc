// The families of `stats` over the binary protocol: what transcripts cannot show of them. Framing
// and refusals as seen on memcached 1.6.45.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "server/command/prefix_stats.h"
#include "server/negotiating_session.h"
#include "tests/unit/server/session/packets.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Connection;
using testing::ExpectReplies;
using testing::Harness;
using testing::Packets;
using testing::Split;

TEST(BinaryStats, AreThoseOfTheTextProtocol) {
  Harness harness;
  for (const std::string family : {"", "settings", "items", "slabs", "sizes"}) {
    const std::string text = harness.Ask("stats" + (family.empty() ? "" : " " + family) + "\r\n");
    const std::size_t lines = static_cast<std::size_t>(std::count(text.begin(), text.end(), '\n'));
    const std::string packet = family.empty() ? "10" : "10 key=" + family;
    const std::vector<std::string> replies = Split(harness.Ask(Packets({packet})));
    ASSERT_EQ(replies.size(), lines) << family;
    std::string group;
    EXPECT_TRUE(transcript::PacketFits(replies.back(), "10", group));
  }
}

TEST(BinaryStats, OfConnectionsToo) {
  Harness harness;
  harness.context.connections = {{1, "tcp:127.0.0.1:11211", "", "conn_listening", 7}};
  ExpectReplies(harness.Ask(Packets({"10 key=conns"})),
                {"10 key=1:addr val=tcp:127.0.0.1:11211", "10 key=1:state val=conn_listening",
                 "10 key=1:secs_since_last_cmd val=7", "10"});
}

TEST(BinaryStats, CountedSizes) {
  Harness harness;
  harness.context.settings.track_sizes = true;
  ExpectReplies(harness.Ask(Packets({"10 key=sizes"})), {"10"});
  // 500 bytes of value, 1 of key, 8 of header.
  harness.Ask("set a 0 0 500\r\n" + std::string(500, 'x') + "\r\n");
  ExpectReplies(harness.Ask(Packets({"10 key=sizes", "0a"})), {"10 key=512 val=1", "10", "0a"});
}

// memcached reads on behind the key, so what it answers is chance.
TEST(BinaryStats, DetailAloneIsNoDump) {
  Harness harness;
  ExpectReplies(harness.Ask(Packets({"10 key=detail"})), {"10 st=1 val=Not\\x20found"});
}

TEST(BinaryStats, ForbiddenOnesAreNotFound) {
  Harness harness;
  harness.context.settings.dump_enabled = false;
  for (const char* key : {"detail\\x20dump", "detail\\x20on", "cachedump\\x201\\x200"}) {
    ExpectReplies(harness.Ask(Packets({std::string("10 key=") + key})),
                  {"10 st=1 val=Not\\x20found"});
  }
  EXPECT_FALSE(harness.context.settings.detail_enabled);
}

TEST(BinaryStats, AListingOfItemsStopsAtTwoMegabytes) {
  Harness harness;
  Connection connection(harness);
  for (int i = 0; i < 12'000; ++i) {
    connection.Receive("set " + std::string(190, 'k') + std::to_string(i) +
                       " 0 100 1 noreply\r\nx\r\n");
  }
  Connection binary(harness);
  const std::string all = binary.Receive(Packets({"10 key=cachedump\\x201\\x200"}));
  const std::vector<std::string> packets = Split(all);
  constexpr std::size_t kLimit = 2U << 20;
  EXPECT_LE(all.size(), kLimit + 24);
  EXPECT_GT(all.size(), kLimit - 300);
  EXPECT_GT(packets.size(), 8'000U);
  EXPECT_EQ(packets.back().size(), 24U);
  EXPECT_TRUE(packets.front().ends_with("[1 b; 1700000100 s]"));
  EXPECT_LE(binary.peak_output_bytes(), 300U << 10);
}

TEST(BinaryStats, AllPrefixesAreOnePacketThatCountsAgainstTheBudget) {
  command::CommandOptions options;
  options.detail_enabled = true;
  Harness harness(options);
  Connection text(harness);
  constexpr std::size_t kPrefixes = command::PrefixStats::kMaxPrefixes;
  std::string batch;
  for (std::size_t i = 0; i < kPrefixes; ++i) {
    batch += "delete " + std::to_string(i) + std::string(100, 'p') + ":x noreply\r\n";
    if (batch.size() > 10'000) {
      text.Receive(batch);
      batch.clear();
    }
  }
  text.Receive(batch);
  const std::string wanted = text.Receive("stats detail dump\r\n");
  const std::uint64_t table_bytes = harness.store.stats().external_bytes;
  Connection binary(harness);
  const std::vector<std::string> packets =
      Split(binary.Receive(Packets({"10 key=detail\\x20dump", "0a"})));
  ASSERT_EQ(packets.size(), 3U);
  EXPECT_EQ(packets[0].substr(24), "detailed" + wanted);
  EXPECT_LE(binary.peak_output_bytes(), 300U << 10);
  EXPECT_GT(binary.yields(), 20);
  EXPECT_EQ(harness.store.stats().external_bytes, table_bytes);
}

// The client goes before it has taken all of it.
TEST(BinaryStats, AnAbandonedPacketGivesItsMemoryBack) {
  command::CommandOptions options;
  options.detail_enabled = true;
  Harness harness(options);
  harness.Ask("get a:b\r\n");
  const std::uint64_t table_bytes = harness.store.stats().external_bytes;
  const std::string request = Packets({"10 key=detail\\x20dump"});
  std::unique_ptr<net::ConnectionHandler> session = NewSession(WireProtocol::kBinary);
  OutputBuffer output;
  ASSERT_EQ(session->OnInput(*harness.worker, request, output).next, net::NextStep::kReplace);
  session = session->TakeSuccessor();
  EXPECT_EQ(harness.store.stats().external_bytes, table_bytes);
  while (output.empty())
    ASSERT_EQ(session->OnInput(*harness.worker, {}, output).next, net::NextStep::kReplace);
  session.reset();
  EXPECT_EQ(harness.store.stats().external_bytes, table_bytes);
}

}  // namespace
}  // namespace podcache
