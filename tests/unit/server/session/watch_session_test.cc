// What watchers see of commands. Expected lines are those of memcached 1.6.45.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "tests/unit/server/session/session_harness.h"

namespace podcache::testing {
namespace {

// Without what differs from run to run: "ts=… gid=…".
std::string Plain(const std::string& lines) {
  constexpr std::string_view kType = " type=";
  std::string plain;
  std::istringstream input(lines);
  for (std::string line; std::getline(input, line);) {
    if (const std::size_t type = line.find(kType); type != std::string::npos) {
      EXPECT_THAT(line.substr(0, type), ::testing::MatchesRegex("ts=[0-9]+\\.[0-9]{6} gid=[0-9]+"));
      line.erase(0, type + kType.size());
    }
    plain += line + "\n";
  }
  return plain;
}

class WatchSessionTest : public ::testing::Test {
 protected:
  std::string Watch(const std::string& streams) {
    const std::string reply = watcher_.Receive("watch " + streams + "\r\n");
    watcher_.Tick();
    return reply;
  }
  // What the watcher gets to see while a client says this.
  std::string SeenOf(const std::string& input) {
    client_.Receive(input);
    return Plain(watcher_.Tick());
  }

  Harness harness_;
  Connection watcher_{*harness_.worker, 7};
  Connection client_{*harness_.worker, 8};
};

TEST_F(WatchSessionTest, Commands) {
  EXPECT_EQ(Watch("fetchers mutations deletions"), "OK\r\n");
  EXPECT_TRUE(watcher_.streaming());
  EXPECT_EQ(SeenOf("get a\r\n"), "item_get key=a status=not_found clsid=0 cfd=8 size=0\n");
  EXPECT_EQ(SeenOf("set a 5 100 3\r\nabc\r\n"),
            "item_get key=a status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=a status=stored cmd=set ttl=100 clsid=1 cfd=8 size=3\n");
  EXPECT_EQ(SeenOf("add a 0 0 1\r\n1\r\n"),
            "item_get key=a status=found clsid=1 cfd=8 size=3\n"
            "item_store key=a status=not_stored cmd=add ttl=0 clsid=1 cfd=8 size=1\n");
  EXPECT_EQ(SeenOf("replace zz 0 0 1\r\n1\r\n"),
            "item_get key=zz status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=zz status=not_stored cmd=replace ttl=0 clsid=1 cfd=8 size=1\n");
  EXPECT_EQ(SeenOf("append a 0 0 2\r\n23\r\n"),
            "item_get key=a status=found clsid=1 cfd=8 size=3\n"
            "item_store key=a status=stored cmd=append ttl=100 clsid=1 cfd=8 size=5\n");
  EXPECT_EQ(SeenOf("prepend zz 0 0 2 noreply\r\n23\r\n"),
            "item_get key=zz status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=zz status=not_stored cmd=prepend ttl=0 clsid=1 cfd=8 size=2\n");
  EXPECT_EQ(SeenOf("cas a 0 0 1 1\r\nx\r\n"),
            "item_get key=a status=found clsid=1 cfd=8 size=5\n"
            "item_store key=a status=exists cmd=cas ttl=0 clsid=1 cfd=8 size=1\n");
  EXPECT_EQ(SeenOf("cas zz 0 0 1 1\r\nx\r\n"),
            "item_get key=zz status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=zz status=not_found cmd=cas ttl=0 clsid=1 cfd=8 size=1\n");
  EXPECT_EQ(SeenOf("incr zz 1\r\ntouch a 10\r\ngat 10 a zz\r\n"),
            "item_get key=zz status=not_found clsid=0 cfd=8 size=0\n"
            "item_get key=a status=found clsid=1 cfd=8 size=5\n"
            "item_get key=a status=found clsid=1 cfd=8 size=5\n"
            "item_get key=zz status=not_found clsid=0 cfd=8 size=0\n");
  EXPECT_EQ(SeenOf("delete a\r\ndelete a\r\n"),
            "item_get key=a status=found clsid=1 cfd=8 size=5\n"
            "deleted key=a cmd=delete clsid=1 size=5\n"
            "item_get key=a status=not_found clsid=0 cfd=8 size=0\n");
  EXPECT_EQ(SeenOf("set b%\x01 0 -1 1\r\nx\r\nget b%\x01\r\n"),
            "item_get key=b%25%01 status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=b%25%01 status=stored cmd=set ttl=-1 clsid=1 cfd=8 size=1\n"
            "item_get key=b%25%01 status=expired clsid=0 cfd=8 size=0\n");
  EXPECT_EQ(SeenOf("set f 0 0 1\r\nx\r\nflush_all\r\nget f\r\n"),
            "item_get key=f status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=f status=stored cmd=set ttl=0 clsid=1 cfd=8 size=1\n"
            "item_get key=f status=flushed clsid=0 cfd=8 size=0\n");
  EXPECT_EQ(SeenOf("set k 0 0 2\r\nabc\r\n"), "");
}

TEST_F(WatchSessionTest, MetaCommands) {
  Watch("fetchers mutations deletions");
  EXPECT_EQ(SeenOf("ms m 2 T30\r\nab\r\nmg m t v\r\nme m\r\n"),
            "item_get key=m status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=m status=stored cmd=set ttl=30 clsid=1 cfd=8 size=2\n"
            "item_get key=m status=found clsid=1 cfd=8 size=2\n"
            "item_get key=m status=found clsid=1 cfd=8 size=2\n");
  EXPECT_EQ(SeenOf("ms app 2 MA N90\r\nab\r\n"),
            "item_get key=app status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=app status=stored cmd=append ttl=90 clsid=1 cfd=8 size=2\n");
  EXPECT_EQ(SeenOf("ma q N0 J13\r\nma q q\r\n"),
            "item_get key=q status=not_found clsid=0 cfd=8 size=0\n"
            "item_store key=q status=stored cmd=add ttl=0 clsid=1 cfd=8 size=2\n"
            "item_get key=q status=found clsid=1 cfd=8 size=2\n");
  EXPECT_EQ(SeenOf("md q I\r\nmd q\r\nmd q\r\n"),
            "item_get key=q status=found clsid=1 cfd=8 size=2\n"
            "item_get key=q status=found clsid=1 cfd=8 size=2\n"
            "deleted key=q cmd=md clsid=1 size=2\n"
            "item_get key=q status=not_found clsid=0 cfd=8 size=0\n");
  SeenOf("set x 0 0 2\r\nab\r\n");
  // An item whose value is dropped is written anew, and unless it is stale it counts as deleted.
  EXPECT_EQ(SeenOf("md x I x T30\r\nmd x x\r\nmd x x C1\r\n"),
            "item_get key=x status=found clsid=1 cfd=8 size=2\n"
            "item_store key=x status=stored cmd=set ttl=30 clsid=1 cfd=8 size=0\n"
            "item_get key=x status=found clsid=1 cfd=8 size=0\n"
            "item_store key=x status=stored cmd=set ttl=0 clsid=1 cfd=8 size=0\n"
            "deleted key=x cmd=md clsid=1 size=0\n"
            "item_get key=x status=found clsid=1 cfd=8 size=0\n");
}

TEST_F(WatchSessionTest, RefusedForItsSize) {
  Watch("fetchers mutations");
  client_.Receive("set big 0 0 2000000\r\n");
  EXPECT_EQ(SeenOf(std::string(2000000, 'x') + "\r\n"),
            "item_store key=big status=too_large cmd=set ttl=0 clsid=1 cfd=8 size=2000000\n"
            "item_get key=big status=not_found clsid=0 cfd=8 size=0\n");
}

TEST_F(WatchSessionTest, OnlyWhatWasAskedFor) {
  Watch("mutations");
  EXPECT_EQ(SeenOf("set a 0 0 1\r\nb\r\nget a\r\ndelete a\r\n"),
            "item_store key=a status=stored cmd=set ttl=0 clsid=1 cfd=8 size=1\n");
}

TEST_F(WatchSessionTest, Connections) {
  Watch("connevents");
  Connection other(*harness_.worker, 9);
  net::PeerAddress peer;
  harness_.worker->ConnectionClosed({9, peer}, net::CloseReason::kIdleTimeout);
  EXPECT_EQ(Plain(watcher_.Tick()),
            "conn_new rip=unix rport=0 transport=local cfd=9\n"
            "conn_close rip=unix rport=0 transport=local reason=idle_timeout cfd=9\n");
}

TEST_F(WatchSessionTest, WithoutArgumentsItIsFetchers) {
  EXPECT_EQ(Watch(""), "OK\r\n");
  EXPECT_EQ(SeenOf("set a 0 0 1\r\nb\r\n"),
            "item_get key=a status=not_found clsid=0 cfd=8 size=0\n");
  // What a watcher sends is ignored.
  EXPECT_EQ(watcher_.Receive("quit\r\n"), "");
  EXPECT_FALSE(watcher_.closed());
}

TEST_F(WatchSessionTest, Refusals) {
  EXPECT_EQ(client_.Receive("watch nothing\r\n"), "ERROR\r\n");
  EXPECT_EQ(client_.Receive("watch fetchers noreply\r\n"), "ERROR\r\n");
  EXPECT_EQ(client_.Receive("get a\r\nwatch\r\n"),
            "END\r\nERROR cannot pipeline other commands before watch\r\n");
  EXPECT_EQ(client_.Receive("version\r\nwatch\r\n").substr(0, 7), "VERSION");
  EXPECT_EQ(client_.Receive("set a 0 0 1 noreply\r\nb\r\nwatch proxyreqs\r\n"), "OK\r\n");
  std::vector<std::unique_ptr<Connection>> watchers;
  for (int i = 0; i < 19; ++i) {
    watchers.push_back(std::make_unique<Connection>(harness_));
    EXPECT_EQ(watchers.back()->Receive("watch\r\n"), "OK\r\n");
  }
  Connection one_more(harness_);
  EXPECT_EQ(one_more.Receive("watch\r\n"), "WATCHER_TOO_MANY log watcher limit reached\r\n");
  watchers.pop_back();
  EXPECT_EQ(one_more.Receive("watch\r\n"), "OK\r\n");
}

TEST(WatchDisabledTest, IsRefused) {
  command::CommandOptions options;
  options.watch_enabled = false;
  Harness harness(options);
  EXPECT_EQ(harness.Ask("watch\r\n"), "CLIENT_ERROR watch commands not allowed\r\n");
}

TEST(WatchEvictionsTest, TellsWhatLeaves) {
  store::StoreOptions small = Harness::DefaultStore();
  small.memory_limit_bytes = 2 << 20;
  small.background_maintenance = false;
  Harness harness({}, small);
  Connection watcher(harness);
  Connection client(harness);
  EXPECT_EQ(watcher.Receive("watch evictions\r\n"), "OK\r\n");
  const std::string value(100, 'v');
  std::string seen;
  for (int i = 0; i < 30'000; ++i) {
    client.Receive("set key" + std::to_string(i) + " 0 1000 100 noreply\r\n" + value + "\r\n");
    if (i % 100 == 0) seen += watcher.Tick();
  }
  seen += watcher.Tick();
  const store::StoreStats stats = harness.store.stats();
  EXPECT_GT(stats.evicted_items, 0U);
  EXPECT_EQ(static_cast<std::uint64_t>(std::count(seen.begin(), seen.end(), '\n')),
            stats.evicted_items);
  const std::string plain = Plain(seen);
  EXPECT_EQ(plain.substr(0, plain.find('\n')),
            "eviction key=key0 fetch=no ttl=1000 la=0 clsid=1 size=100");
}

}  // namespace
}  // namespace podcache::testing
