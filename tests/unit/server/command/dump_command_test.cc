// Dumps of keys, cachedump, sizes and prefixes through the session. Texts are memcached 1.6.45's;
// what depends on the number of items is arithmetic.
#include <gtest/gtest.h>

#include <chrono>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/adjustable_clock.h"
#include "server/command/prefix_stats.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Connection;
using testing::Harness;

std::vector<std::string> Lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

TEST(DumpCommandTest, MetadumpShowsTheWholeItem) {
  Harness harness;
  harness.Ask("set a%b\"\x01 7 100 3\r\nxyz\r\n");
  harness.clock.Advance(std::chrono::seconds(5));
  const std::string answer = harness.Ask("lru_crawler metadump all\r\n");
  EXPECT_TRUE(answer.starts_with("OK\r\nkey=a%25b%22%01 exp=1700000100 la=1700000000 cas="))
      << answer;
  EXPECT_NE(answer.find(" fetch=no cls=1 size="), std::string::npos);
  EXPECT_TRUE(answer.ends_with(" flags=7 \nEND\r\n")) << answer;
  harness.Ask("set a%b\"\x01 0 0 3\r\nxyz\r\nget a%b\"\x01\r\n");
  const std::string later = harness.Ask("lru_crawler metadump hash\r\n");
  EXPECT_NE(later.find(" exp=-1 la=1700000005 "), std::string::npos) << later;
  EXPECT_NE(later.find(" fetch=yes "), std::string::npos);
}

TEST(DumpCommandTest, MgdumpShowsKeysAsRequests) {
  Harness harness;
  harness.Ask("set plain 0 0 1\r\nx\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler mgdump all\r\n"), "OK\r\nmg plain\r\nEN\r\n");
  harness.Ask("delete plain\r\nset t\x01t 0 0 1\r\nx\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler mgdump hash\r\n"), "OK\r\nmg dAF0 b\r\nEN\r\n");
}

TEST(DumpCommandTest, EveryItemOnceAndOtherCommandsAfterwards) {
  Harness harness;
  constexpr int kItems = 20'000;
  Connection connection(harness);
  for (int i = 0; i < kItems; ++i) {
    connection.Receive("set k" + std::to_string(i) + " 0 0 1 noreply\r\nx\r\n");
  }
  const std::vector<std::string> lines =
      Lines(connection.Receive("lru_crawler mgdump all\r\nversion\r\n"));
  std::map<std::string, int> seen;
  for (const std::string& line : lines) ++seen[line];
  EXPECT_EQ(lines.size(), std::size_t{kItems} + 3);
  EXPECT_EQ(seen.size(), lines.size());
  EXPECT_EQ(lines.front(), "OK\r");
  EXPECT_EQ(lines[lines.size() - 2], "EN\r");
  EXPECT_TRUE(lines.back().starts_with("VERSION "));
  // It leaves in pieces, and others have their turn in between.
  EXPECT_LE(connection.peak_output_bytes(), 300U * 1024);
  EXPECT_TRUE(connection.AtRequestBoundary());
}

TEST(DumpCommandTest, NotBehindRepliesThatArePending) {
  Harness harness;
  EXPECT_EQ(harness.Ask("get a\r\nlru_crawler metadump all\r\nget a\r\n"),
            "END\r\nERROR cannot pipeline other commands before metadump\r\nEND\r\n");
  EXPECT_EQ(harness.Ask("get a\r\nlru_crawler mgdump all\r\n"),
            "END\r\nERROR cannot pipeline other commands before mgdump\r\n");
  EXPECT_EQ(harness.Ask("delete a noreply\r\nlru_crawler metadump all\r\n"), "OK\r\nEND\r\n");
}

TEST(DumpCommandTest, RefusedWithX) {
  Harness harness;
  harness.context.settings.dump_enabled = false;
  EXPECT_EQ(harness.Ask("lru_crawler metadump all\r\n"), "ERROR metadump not allowed\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler metadump x\r\n"), "ERROR metadump not allowed\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler mgdump all\r\n"), "ERROR key dump not allowed\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler metadump\r\n"), "ERROR\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler crawl all\r\n"), "OK\r\n");
  EXPECT_EQ(harness.Ask("stats cachedump 1 1\r\n"), "CLIENT_ERROR stats cachedump not allowed\r\n");
  EXPECT_EQ(harness.Ask("stats cachedump\r\n"), "CLIENT_ERROR stats cachedump not allowed\r\n");
  EXPECT_EQ(harness.Ask("stats detail on\r\n"), "CLIENT_ERROR stats detail not allowed\r\n");
  EXPECT_EQ(harness.Ask("stats detail\r\n"), "CLIENT_ERROR stats detail not allowed\r\n");
}

// Not a transcript: memcached's own crawler thread makes its answers here depend on the moment.
TEST(DumpCommandTest, ACrawlerSwitchedOffDumpsNothing) {
  Harness harness;
  EXPECT_EQ(harness.Ask("lru_crawler crawl all\r\n"), "OK\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler disable\r\nlru_crawler disable\r\n"), "OK\r\nOK\r\n");
  EXPECT_FALSE(harness.context.settings.lru_crawler);
  for (const char* line : {"lru_crawler crawl 1\r\n", "lru_crawler metadump all\r\n",
                           "lru_crawler mgdump all\r\n", "lru_crawler mgdump x\r\n"}) {
    EXPECT_EQ(harness.Ask(line), "CLIENT_ERROR lru crawler disabled\r\n");
  }
  EXPECT_EQ(harness.Ask("lru_crawler enable foo\r\n"), "ERROR\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler enable\r\n"), "OK\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler metadump all\r\n"), "OK\r\nEND\r\n");
  // Shortened: a lone m is the first that fits.
  EXPECT_EQ(harness.Ask("lru_crawler m hash\r\n"), "OK\r\nEND\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler mg hash\r\n"), "OK\r\nEN\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler d\r\nlru_crawler m all\r\n"),
            "OK\r\nCLIENT_ERROR lru crawler disabled\r\n");
  EXPECT_EQ(harness.Ask("lru_crawler e\r\n"), "OK\r\n");
}

TEST(DumpCommandTest, KnobsAreShownInTheSettings) {
  Harness harness;
  harness.Ask("lru_crawler tocrawl 7\r\nlru_crawler sleep 55\r\nlru tune 11 22 0.33 1.5\r\n");
  harness.Ask("lru temp_ttl 77\r\nlru mode flat\r\nslabs automove 2\r\n");
  harness.Ask("slabs automove ratio 0.7\r\nslabs automove window 33\r\n");
  const std::string settings = harness.Ask("stats settings\r\n");
  for (const char* line :
       {"lru_crawler_tocrawl 7", "lru_crawler_sleep 55", "hot_lru_pct 11", "warm_lru_pct 22",
        "hot_max_factor 0.33", "warm_max_factor 1.50", "temp_lru yes", "temporary_ttl 77",
        "lru_segmented no", "slab_automove 2", "slab_automove_ratio 0.70",
        "slab_automove_window 33"}) {
    EXPECT_NE(settings.find("STAT " + std::string(line) + "\r\n"), std::string::npos) << line;
  }
  harness.Ask("lru temp_ttl -1\r\n");
  EXPECT_FALSE(harness.context.settings.temp_lru);
  harness.context.settings.slab_reassign = false;
  EXPECT_EQ(harness.Ask("slabs reassign 1 2\r\n"), "CLIENT_ERROR slab reassignment disabled\r\n");
}

TEST(DumpCommandTest, CachedumpStopsAtItsBounds) {
  Harness harness;
  harness.Ask("set a 0 0 3\r\nxyz\r\n");
  EXPECT_EQ(harness.Ask("stats cachedump 1 0\r\n"), "ITEM a [3 b; 0 s]\r\nEND\r\n");
  Connection connection(harness);
  for (int i = 0; i < 12'000; ++i) {
    connection.Receive("set " + std::string(190, 'k') + std::to_string(i) +
                       " 0 100 1 noreply\r\nx\r\n");
  }
  EXPECT_EQ(Lines(connection.Receive("stats cachedump 1 10\r\n")).size(), 11U);
  const std::string all = connection.Receive("stats cachedump 1 0\r\n");
  // Two megabytes, but for one line.
  EXPECT_LE(all.size(), (2U << 20) + 5);
  EXPECT_GT(all.size(), (2U << 20) - 300);
  EXPECT_TRUE(all.ends_with(" b; 1700000100 s]\r\nEND\r\n"));
}

TEST(DumpCommandTest, SizesCountItemsInStepsOf32Bytes) {
  Harness harness;
  harness.context.settings.track_sizes = true;
  EXPECT_EQ(harness.Ask("stats sizes\r\n"), "END\r\n");
  for (int i = 0; i < 300; ++i) {
    harness.Ask("set k" + std::to_string(i) + " 0 0 500\r\n" + std::string(500, 'x') + "\r\n");
  }
  harness.Ask("set big 0 0 5000\r\n" + std::string(5000, 'x') + "\r\n");
  const std::vector<std::string> lines = Lines(harness.Ask("stats sizes\r\n"));
  ASSERT_EQ(lines.size(), 3U);
  // 500 bytes of value, 3 or 4 of key, 8 of header.
  EXPECT_EQ(lines[0], "STAT 512 300\r");
  EXPECT_EQ(lines[1], "STAT 5024 1\r");
}

TEST(DumpCommandTest, DetailCountsByPrefix) {
  command::CommandOptions options;
  options.prefix_delimiter = '/';
  options.detail_enabled = true;
  Harness harness(options);
  EXPECT_EQ(harness.Ask("stats detail dump\r\n"), "END\r\n");
  // As memcached counts: every storage command, also refused ones, gets and gats, deletes; neither
  // touch nor incr; nothing for keys without the delimiter.
  harness.Ask("set a/b 0 0 1\r\nx\r\nadd a/b 0 0 1\r\nx\r\nset a/b 0 0 1\r\nxyz\r\n\r\n");
  harness.Ask("get a/b a/c\r\ngat 100 a/b\r\ntouch a/b 1\r\nincr a/b 1\r\nget plain\r\n");
  harness.Ask("delete b/1\r\nget /x\r\n");
  EXPECT_EQ(harness.Ask("stats detail dump\r\n"),
            "PREFIX  get 1 hit 0 set 0 del 0\r\nPREFIX a get 3 hit 2 set 3 del 0\r\n"
            "PREFIX b get 0 hit 0 set 0 del 1\r\nEND\r\n");
  EXPECT_EQ(harness.Ask("stats detail off\r\n"), "OK\r\n");
  EXPECT_FALSE(harness.context.settings.detail_enabled);
  harness.Ask("get a/b\r\n");
  EXPECT_EQ(harness.Ask("stats detail dump\r\n").find("get 4"), std::string::npos);
  harness.Ask("stats reset\r\n");
  EXPECT_EQ(harness.Ask("stats detail dump\r\n"), "END\r\n");
}

TEST(DumpCommandTest, DetailHasALimitOfPrefixesThatCountsAgainstTheBudget) {
  command::CommandOptions options;
  options.detail_enabled = true;
  Harness harness(options);
  Connection connection(harness);
  constexpr std::size_t kLimit = command::PrefixStats::kMaxPrefixes;
  std::string batch;
  for (std::size_t i = 0; i < kLimit + 100; ++i) {
    batch += "delete " + std::to_string(i) + ":x noreply\r\n";
    if (batch.size() < 10'000) continue;
    connection.Receive(batch);
    batch.clear();
  }
  connection.Receive(batch);
  EXPECT_GE(harness.store.stats().external_bytes, kLimit * 128);
  EXPECT_EQ(Lines(connection.Receive("stats detail dump\r\n")).size(), kLimit + 1);
  EXPECT_LE(connection.peak_output_bytes(), 300U * 1024);
  harness.Ask("stats reset\r\n");
  EXPECT_EQ(harness.store.stats().external_bytes, 0U);
}

TEST(DumpCommandTest, DebugtimeIsAnErrorWithoutATestClock) {
  Harness harness;
  EXPECT_EQ(harness.Ask("debugtime 1\r\n"), "ERROR\r\n");
  AdjustableClock clock;
  command::CommandOptions options;
  options.test_clock = &clock;
  Harness test_build(options);
  const std::int64_t before = clock.WallSeconds();
  EXPECT_EQ(test_build.Ask("debugtime p\r\n"), "OK\r\n");
  EXPECT_EQ(test_build.Ask("debugtime +1000\r\n"), "OK\r\n");
  EXPECT_EQ(test_build.Ask("debugtime -400\r\n"), "OK\r\n");
  const std::int64_t paused = clock.WallSeconds();
  EXPECT_GE(paused, before + 600);
  EXPECT_EQ(clock.WallNow(), clock.WallNow());
  EXPECT_EQ(test_build.Ask("debugtime r\r\n"), "OK\r\n");
  EXPECT_GE(clock.WallSeconds(), paused);
  EXPECT_EQ(test_build.Ask("debugtime x\r\ndebugtime\r\n"), "ERROR\r\nERROR\r\n");
}

}  // namespace
}  // namespace podcache
