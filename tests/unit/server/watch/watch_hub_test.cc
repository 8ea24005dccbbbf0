#include "server/watch/watch_hub.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace podcache::watch {
namespace {

using protocol::kFetchers;
using protocol::kMutations;

class WatchHubTest : public ::testing::Test {
 protected:
  WatchHub& Make(std::size_t watcher_bytes, std::size_t producer_bytes) {
    WatchSettings settings;
    settings.watcher_bytes = watcher_bytes;
    settings.producer_bytes = producer_bytes;
    settings.charge_memory = [this](std::int64_t delta) { charged_ += delta; };
    hub_ = std::make_unique<WatchHub>(settings);
    return *hub_;
  }
  void Put(EventBuffer& buffer, protocol::Streams stream, std::string_view line) {
    buffer.Append(stream, hub_->NextGid(), line);
  }
  static std::string Take(Watcher& watcher) {
    OutputBuffer output;
    watcher.Take(output);
    iovec piece{};
    if (output.FillIovec(&piece, 1) == 0) return "";
    return {static_cast<const char*>(piece.iov_base), piece.iov_len};
  }

  std::atomic<std::int64_t> charged_{0};
  std::unique_ptr<WatchHub> hub_;
};

TEST_F(WatchHubTest, EachWatcherGetsItsStreamsFromWhenItCame) {
  Make(1000, 1000);
  const auto buffer = hub_->NewBuffer();
  EXPECT_EQ(hub_->streams(), 0U);
  auto first = hub_->Watch(kFetchers);
  EXPECT_EQ(hub_->streams(), kFetchers);
  Put(*buffer, kFetchers, "a\n");
  const auto second = hub_->Watch(kFetchers | kMutations);
  EXPECT_EQ(hub_->streams(), kFetchers | kMutations);
  Put(*buffer, kMutations, "b\n");
  Put(*buffer, kFetchers, "c\n");
  EXPECT_EQ(Take(*first), "a\nc\n");
  EXPECT_EQ(Take(*second), "b\nc\n");
  EXPECT_EQ(Take(*second), "");
  first.reset();
  EXPECT_EQ(hub_->streams(), kFetchers | kMutations);
  EXPECT_EQ(hub_->stats().watchers, 1U);
  EXPECT_EQ(hub_->stats().sent, 4U);
  EXPECT_EQ(hub_->stats().produced, 3U);
}

TEST_F(WatchHubTest, LinesOfSeveralProducersComeInOrder) {
  Make(1000, 1000);
  const auto a = hub_->NewBuffer();
  auto b = hub_->NewBuffer();
  const auto watcher = hub_->Watch(kFetchers);
  Put(*b, kFetchers, "1\n");
  Put(*a, kFetchers, "2\n");
  Put(*b, kFetchers, "3\n");
  EXPECT_EQ(Take(*watcher), "1\n2\n3\n");
  // What a producer said before it went is not lost.
  Put(*b, kFetchers, "4\n");
  b.reset();
  EXPECT_EQ(Take(*watcher), "4\n");
}

TEST_F(WatchHubTest, ASlowWatcherIsToldWhatItMissed) {
  Make(100, 1000);
  const auto buffer = hub_->NewBuffer();
  const auto slow = hub_->Watch(kFetchers);
  const std::string line = std::string(39, 'x') + "\n";
  for (int i = 0; i < 5; ++i) Put(*buffer, kFetchers, line);
  // Earlier output still waits: nothing is added, but the lines are collected.
  OutputBuffer waiting;
  waiting.Append("earlier");
  slow->Take(waiting);
  EXPECT_EQ(waiting.pending_bytes(), 7U);
  EXPECT_EQ(hub_->stats().skipped, 3U);
  EXPECT_EQ(Take(*slow), line + line);
  EXPECT_EQ(Take(*slow), "");
  Put(*buffer, kFetchers, line);
  EXPECT_EQ(Take(*slow), "skipped=3\n" + line);
  EXPECT_EQ(hub_->stats().sent, 3U);
}

TEST_F(WatchHubTest, AProducerWithoutRoomDropsAndCounts) {
  Make(10'000, 100);
  const auto buffer = hub_->NewBuffer();
  const auto watcher = hub_->Watch(kFetchers);
  Put(*buffer, kFetchers, std::string(200, 'x'));
  EXPECT_EQ(hub_->stats().dropped, 1U);
  // Half full: it collects by itself, so there is always room for the next.
  for (int i = 0; i < 20; ++i) Put(*buffer, kFetchers, std::string(39, 'y') + "\n");
  EXPECT_EQ(hub_->stats().dropped, 1U);
  EXPECT_EQ(Take(*watcher).size(), 800U);
}

TEST_F(WatchHubTest, AtMostTwenty) {
  Make(100, 100);
  std::vector<std::unique_ptr<Watcher>> watchers;
  for (std::size_t i = 0; i < kMaxWatchers; ++i) {
    watchers.push_back(hub_->Watch(kFetchers));
    ASSERT_NE(watchers.back(), nullptr);
  }
  EXPECT_EQ(hub_->Watch(kFetchers), nullptr);
  watchers.pop_back();
  EXPECT_NE(hub_->Watch(kFetchers), nullptr);
}

TEST_F(WatchHubTest, MemoryIsChargedWhileSomebodyWatches) {
  Make(1000, 100);
  auto a = hub_->NewBuffer();
  const auto b = hub_->NewBuffer();
  EXPECT_EQ(charged_, 0);
  auto watcher = hub_->Watch(kFetchers);
  EXPECT_EQ(charged_, 1000 + 2 * 2 * 100);
  const auto other = hub_->Watch(kMutations);
  EXPECT_EQ(charged_, 2000 + 2 * 2 * 100);
  a.reset();
  EXPECT_EQ(charged_, 2000 + 2 * 100);
  watcher.reset();
  hub_->Watch(kFetchers).reset();
  EXPECT_EQ(charged_, 1000 + 2 * 100);
}

// Every line is sent, skipped, or dropped; nobody waits for the watcher that never takes.
TEST_F(WatchHubTest, ManyThreadsLoseNothingUncounted) {
  Make(4096, 1024);
  constexpr int kThreads = 4;
  constexpr int kLines = 5000;
  const auto taking = hub_->Watch(kFetchers);
  const auto idle = hub_->Watch(kFetchers);
  std::atomic<int> running{kThreads};
  std::vector<std::thread> threads;
  for (int t = 0; t < kThreads; ++t) {
    threads.emplace_back([&] {
      const auto buffer = hub_->NewBuffer();
      for (int i = 0; i < kLines; ++i) Put(*buffer, kFetchers, "0123456789\n");
      --running;
    });
  }
  std::size_t lines = 0;
  std::size_t skipped_lines = 0;
  const auto drain = [&] {
    const std::string text = Take(*taking);
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t end = text.find('\n', at);
      ++(text[at] == 's' ? skipped_lines : lines);
      at = end + 1;
    }
  };
  while (running > 0) {
    drain();
    hub_->Watch(kMutations).reset();
  }
  for (std::thread& thread : threads) thread.join();
  drain();
  const WatchStats stats = hub_->stats();
  EXPECT_EQ(stats.produced + stats.dropped, static_cast<std::uint64_t>(kThreads * kLines));
  EXPECT_EQ(stats.sent + stats.skipped, 2 * stats.produced);
  EXPECT_GT(lines, 0U);
  EXPECT_LE(lines, stats.sent);
}

}  // namespace
}  // namespace podcache::watch
