// Administrative commands through the session, with what the rest of the server is asked for.
#include <gtest/gtest.h>

#include <chrono>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "common/base/version.h"
#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Connection;
using testing::Harness;

TEST(AdminCommandTest, VersionStartsWithThreeDottedNumbers) {
  Harness harness;
  EXPECT_EQ(harness.Ask("version\r\n"),
            "VERSION 1.6.45-podcache-" + std::string(Version()) + "\r\n");
}

TEST(AdminCommandTest, VerbosityReachesTheServer) {
  Harness harness;
  EXPECT_EQ(harness.Ask("verbosity 2\r\n"), "OK\r\n");
  EXPECT_EQ(harness.context.verbosity, 2);
  EXPECT_EQ(harness.Ask("verbosity 4294967295\r\n"), "OK\r\n");
  EXPECT_EQ(harness.context.verbosity, 3);
  EXPECT_EQ(harness.Ask("verbosity 0 noreply\r\n"), "");
  EXPECT_EQ(harness.context.verbosity, 0);
}

TEST(AdminCommandTest, CacheMemlimitAsksForAResize) {
  Harness harness;
  EXPECT_EQ(harness.Ask("cache_memlimit 8\r\n"), "OK\r\n");
  EXPECT_EQ(harness.Ask("cache_memlimit 100 noreply\r\n"), "");
  EXPECT_EQ(harness.context.asked_limits, (std::vector<std::uint64_t>{8ULL << 20, 100ULL << 20}));
  harness.context.accept_limit = false;
  EXPECT_EQ(harness.Ask("cache_memlimit 1000000000\r\n"),
            "MEMLIMIT_ADJUST_FAILED out of bounds or unable to adjust\r\n");
  EXPECT_EQ(harness.context.asked_limits.back(), 1'000'000'000ULL << 20);
  for (const char* line :
       {"cache_memlimit 7\r\n", "cache_memlimit 1000000001\r\n", "cache_memlimit x\r\n"}) {
    harness.Ask(line);
  }
  EXPECT_EQ(harness.context.asked_limits.size(), 3U);
}

TEST(AdminCommandTest, ShutdownIsOffUnlessAllowed) {
  Harness harness;
  for (const char* line : {"shutdown\r\n", "shutdown graceful\r\n", "shutdown foo\r\n"}) {
    EXPECT_EQ(harness.Ask(line), "SERVER_ERROR: shutdown not enabled\r\n");
  }
  EXPECT_EQ(harness.Ask("shutdown noreply\r\n"), "");
  EXPECT_TRUE(harness.context.shutdowns.empty());
}

TEST(AdminCommandTest, Shutdown) {
  command::CommandOptions options;
  options.shutdown_enabled = true;
  Harness harness(options);
  EXPECT_EQ(harness.Ask("shutdown foo\r\n"), "CLIENT_ERROR invalid shutdown mode\r\n");
  EXPECT_EQ(harness.Ask("shutdown graceful foo\r\n"), "CLIENT_ERROR invalid shutdown mode\r\n");
  EXPECT_EQ(harness.Ask("shutdown foo noreply\r\n"), "");
  EXPECT_TRUE(harness.context.shutdowns.empty());
  EXPECT_EQ(harness.Ask("shutdown\r\n"), "");
  EXPECT_EQ(harness.Ask("shutdown  graceful \r\n"), "");
  EXPECT_EQ(harness.Ask("shutdown g\r\n"), "");
  EXPECT_EQ(harness.context.shutdowns, (std::vector<bool>{false, true, true}));
}

TEST(AdminCommandTest, FlushAllCanBeForbiddenAndStillCounts) {
  command::CommandOptions options;
  options.flush_enabled = false;
  Harness harness(options);
  harness.Ask("set a 0 0 1\r\nx\r\n");
  EXPECT_EQ(harness.Ask("flush_all\r\n"), "CLIENT_ERROR flush_all not allowed\r\n");
  EXPECT_EQ(harness.Ask("flush_all x\r\n"), "CLIENT_ERROR flush_all not allowed\r\n");
  EXPECT_EQ(harness.Ask("flush_all noreply\r\n"), "");
  EXPECT_EQ(harness.Ask("get a\r\n"), "VALUE a 0 1\r\nx\r\nEND\r\n");
  EXPECT_EQ(harness.Count(metrics::Counter::kCmdFlush), 3U);
}

// Expiry at the edges of what relative, absolute and past mean; the manual clock stands at 1 700
// 000 000.
TEST(AdminCommandTest, ExptimesAtTheirEdges) {
  Harness harness;
  constexpr const char* kHit = "VALUE a 0 1\r\nx\r\nEND\r\n";
  const auto store = [&](const std::string& exptime) {
    ASSERT_EQ(harness.Ask("set a 0 " + exptime + " 1\r\nx\r\n"), "STORED\r\n");
  };
  const auto get = [&] { return harness.Ask("get a\r\n"); };
  store("2592000");  // 30 days, the longest relative one.
  EXPECT_EQ(get(), kHit);
  store("2592001");  // Unix time, in January 1970.
  EXPECT_EQ(get(), "END\r\n");
  store("1700000000");  // Now is past.
  EXPECT_EQ(get(), "END\r\n");
  store("1700000001");
  EXPECT_EQ(get(), kHit);
  harness.clock.Advance(std::chrono::seconds(1));
  EXPECT_EQ(get(), "END\r\n");
  store("2");
  harness.clock.Advance(std::chrono::milliseconds(1999));
  EXPECT_EQ(get(), kHit);
  harness.clock.Advance(std::chrono::milliseconds(1));
  EXPECT_EQ(get(), "END\r\n");
  store("9223372036854775807");
  EXPECT_EQ(get(), kHit);
  store("-9223372036854775808");
  EXPECT_EQ(get(), "END\r\n");
}

}  // namespace
}  // namespace podcache
