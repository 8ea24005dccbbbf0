// The lines are those that memcached 1.6.45 writes, but for microseconds with leading zeros.
#include "server/protocol/watch_lines.h"

#include <gtest/gtest.h>

#include <limits>
#include <string>
#include <string_view>

namespace podcache::protocol {
namespace {

constexpr WatchStamp kStamp{1'700'000'000'094'685, 12};

class WatchLinesTest : public ::testing::Test {
 protected:
  template <class Write>
  std::string Line(Write&& write) {
    const char* const end = write(line_);
    return {line_, static_cast<std::size_t>(end - line_)};
  }
  char line_[kMaxWatchLineBytes];
};

TEST_F(WatchLinesTest, Uri) {
  char out[MaxUriBytes(20)];
  const std::string_view in("aZ09-._~ %#/\x01\xff", 14);
  EXPECT_EQ(std::string_view(out, static_cast<std::size_t>(WriteUri(out, in) - out)),
            "aZ09-._~%20%25%23%2F%01%FF");
}

TEST_F(WatchLinesTest, EveryType) {
  EXPECT_EQ(Line([](char* at) {
              return WriteItemGet(at, kStamp, "a b", LookupStatus::kNotFound, 22, 0);
            }),
            "ts=1700000000.094685 gid=12 type=item_get key=a%20b status=not_found clsid=0 cfd=22 "
            "size=0\n");
  EXPECT_EQ(
      Line([](char* at) { return WriteItemGet(at, kStamp, "a", LookupStatus::kFound, 22, 3); }),
      "ts=1700000000.094685 gid=12 type=item_get key=a status=found clsid=1 cfd=22 size=3\n");
  EXPECT_EQ(Line([](char* at) {
              return WriteItemStore(at, kStamp, "a", StoreOutcome::kExists, "cas", 97, 20, 5);
            }),
            "ts=1700000000.094685 gid=12 type=item_store key=a status=exists cmd=cas ttl=97 "
            "clsid=1 cfd=20 size=5\n");
  EXPECT_EQ(Line([](char* at) { return WriteEviction(at, kStamp, "a", true, -1, 7, 100); }),
            "ts=1700000000.094685 gid=12 type=eviction key=a fetch=yes ttl=-1 la=7 clsid=1 "
            "size=100\n");
  EXPECT_EQ(Line([](char* at) { return WriteDeleted(at, kStamp, "a", "md", 4); }),
            "ts=1700000000.094685 gid=12 type=deleted key=a cmd=md clsid=1 size=4\n");
  EXPECT_EQ(Line([](char* at) {
              return WriteConnNew(at, kStamp, {"127.0.0.1", 57576, "tcp", 22});
            }),
            "ts=1700000000.094685 gid=12 type=conn_new rip=127.0.0.1 rport=57576 transport=tcp "
            "cfd=22\n");
  EXPECT_EQ(Line([](char* at) {
              return WriteConnClose(at, kStamp, {"", 0, "local", 22}, ConnectionEnd::kIdleTimeout);
            }),
            "ts=1700000000.094685 gid=12 type=conn_close rip=unix rport=0 transport=local "
            "reason=idle_timeout cfd=22\n");
  EXPECT_EQ(Line([](char* at) { return WriteSkipped(at, 42); }), "skipped=42\n");
}

TEST_F(WatchLinesTest, TheLongestFit) {
  constexpr auto kMost = std::numeric_limits<std::uint64_t>::max();
  constexpr auto kLeast = std::numeric_limits<std::int64_t>::min();
  const WatchStamp stamp{std::numeric_limits<std::int64_t>::max(), kMost};
  const std::string key(kMaxKeyBytes, ' ');
  const std::string store = Line([&](char* at) {
    return WriteItemStore(at, stamp, key, StoreOutcome::kNotStored, "prepend", kLeast, kMost,
                          kMost);
  });
  EXPECT_LE(store.size(), kMaxWatchLineBytes);
  const std::string eviction =
      Line([&](char* at) { return WriteEviction(at, stamp, key, true, kLeast, ~0U, kMost); });
  EXPECT_LE(eviction.size(), kMaxWatchLineBytes);
  char skipped[kMaxSkippedBytes];
  EXPECT_LE(WriteSkipped(skipped, kMost), skipped + kMaxSkippedBytes);
}

TEST_F(WatchLinesTest, Streams) {
  EXPECT_EQ(ParseStreams(""), kFetchers);
  EXPECT_EQ(ParseStreams("mutations"), kMutations);
  EXPECT_EQ(ParseStreams("rawcmds evictions  fetchers mutations sysevents connevents deletions"),
            kRawCommands | kEvictions | kFetchers | kMutations | kSystemEvents | kConnectionEvents |
                kDeletions);
  EXPECT_EQ(ParseStreams("proxyreqs proxyevents proxyuser"), kProxyEvents);
  EXPECT_EQ(ParseStreams("fetchersx"), std::nullopt);
  EXPECT_EQ(ParseStreams("fetchers noreply"), std::nullopt);
  // Shortened; of several that fit the first one, as memcached has them.
  EXPECT_EQ(ParseStreams("fetch m d"), kFetchers | kMutations | kDeletions);
  EXPECT_EQ(ParseStreams("r e s c p"),
            kRawCommands | kEvictions | kSystemEvents | kConnectionEvents | kProxyEvents);
}

}  // namespace
}  // namespace podcache::protocol
