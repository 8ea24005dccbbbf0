// A store that begins with what another left: all of it comes back as it was, whatever limit it
// comes back to.
#include <gtest/gtest.h>
#include <sys/resource.h>

#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/server/store/restart_fixture.h"

namespace podcache::store {
namespace {

using std::chrono::seconds;

std::string KeyOf(int i) { return "key-" + std::to_string(i); }

TEST_F(RestartTest, TheFirstStartFindsNothing) {
  EXPECT_FALSE(warm());
  EXPECT_EQ(reason(), "");
}

TEST_F(RestartTest, AnItemComesBackAsItWas) {
  client().Set("k", "value", 77, now() + 100);
  clock_.Advance(seconds(3));
  DetailedRead read;
  read.want_cas = true;
  read.want_value = true;
  const std::optional<ItemMeta> before = client().Detailed("k", read);
  client().Detailed("k", read);
  Restart();
  EXPECT_TRUE(warm());
  EXPECT_EQ(store().restart_report().items, 1u);
  EXPECT_EQ(store().stats().restored_items, 1u);
  EXPECT_EQ(client().session().Peek(client().session().MakeKey("k")).exptime, now() + 97);
  std::string value;
  clock_.Advance(seconds(5));
  const std::optional<ItemMeta> after = client().Detailed("k", read, &value);
  ASSERT_TRUE(after);
  EXPECT_EQ(value, "value");
  EXPECT_EQ(after->client_flags, 77u);
  EXPECT_EQ(after->cas, before->cas);
  EXPECT_TRUE(after->fetched);
  EXPECT_EQ(after->idle_seconds, 5u);
}

TEST_F(RestartTest, ManyRestartsInARowLoseNothing) {
  for (int round = 0; round < 20; ++round) {
    client().Set(KeyOf(round), std::string(100 + round, 'x'));
    Restart();
    ASSERT_TRUE(warm()) << reason();
    for (int i = 0; i <= round; ++i)
      EXPECT_EQ(client().Get(KeyOf(i)), std::string(100 + i, 'x')) << i;
  }
}

TEST_F(RestartTest, WhatExpiresMeanwhileIsGone) {
  client().Set("soon", "v", 0, now() + 10);
  client().Set("later", "v", 0, now() + 20);
  Stop();
  clock_.Advance(seconds(10));
  Begin();
  EXPECT_FALSE(client().Get("soon"));
  EXPECT_TRUE(client().Get("later"));
}

TEST_F(RestartTest, WhatWasFlushedStaysGone) {
  client().Set("old", "v");
  store().FlushAll(0);
  client().Set("new", "v");
  Restart();
  EXPECT_FALSE(client().Get("old"));
  EXPECT_TRUE(client().Get("new"));
  Maintain();
  Restart();
  EXPECT_FALSE(client().Get("old"));
  EXPECT_TRUE(client().Get("new"));
}

TEST_F(RestartTest, AFlushThatIsStillToComeComes) {
  client().Set("k", "v");
  store().FlushAll(now() + 10);
  Stop();
  clock_.Advance(seconds(9));
  Begin();
  EXPECT_TRUE(client().Get("k"));
  clock_.Advance(seconds(1));
  EXPECT_FALSE(client().Get("k"));
}

TEST_F(RestartTest, WhatIsHalfWrittenLeavesTheOldItem) {
  client().Set("small", "old");
  client().Set("large", std::string(100'000, 'o'));
  {
    WriteHandle small;
    WriteHandle large;
    StoreSession& session = client().session();
    ASSERT_EQ(session.Prepare(session.MakeKey("small"), 10, 0, 0, small), StoreStatus::kOk);
    ASSERT_EQ(session.Prepare(session.MakeKey("large"), 200'000, 0, 0, large), StoreStatus::kOk);
    Client::Fill(small, "12345");
    Client::Fill(large, std::string(150'000, 'n'));
  }
  Restart();
  EXPECT_EQ(client().Get("small"), "old");
  EXPECT_EQ(client().Get("large"), std::string(100'000, 'o'));
}

// Random operations beside a map, and now and then another process.
class RestartModelTest : public RestartTest, public ::testing::WithParamInterface<unsigned> {
 protected:
  struct Item {
    std::string value;
    std::uint32_t flags = 0;
    std::int64_t exptime = 0;
    std::uint64_t cas = 0;  // If somebody has seen it.
  };

  bool Expired(const Item& item) const { return item.exptime != 0 && item.exptime <= now(); }
  int Random(int n) { return static_cast<int>(random_() % static_cast<unsigned>(n)); }

  void Step() {
    const std::string key = KeyOf(Random(300));
    const std::string value(
        static_cast<std::size_t>(Random(20) == 0 ? Random(90'000) : Random(300)),
        static_cast<char>('a' + Random(26)));
    const auto held = model_.find(key);
    const bool live = held != model_.end() && !Expired(held->second);
    switch (Random(10)) {
      case 0:
      case 1:
      case 2:
      case 3: {
        const Item item{value, static_cast<std::uint32_t>(Random(3)),
                        Random(4) == 0 ? now() + 1 + Random(40) : 0, 0};
        ASSERT_EQ(client().Set(key, value, item.flags, item.exptime), StoreStatus::kStored);
        model_[key] = item;
        break;
      }
      case 4:
        ASSERT_EQ(client().Delete(key), live ? StoreStatus::kOk : StoreStatus::kNotFound);
        model_.erase(key);
        break;
      case 5:
        if (!live) break;
        held->second.exptime = now() + 1 + Random(40);
        ASSERT_EQ(client().Touch(key, held->second.exptime), StoreStatus::kOk);
        break;
      case 6:
        if (!live || value.size() > 300) break;
        ASSERT_EQ(client().Write(key, value, {.mode = WriteMode::kAppend}).status,
                  StoreStatus::kStored);
        held->second.value += value;
        held->second.cas = 0;
        break;
      case 7:
        if (!live) break;
        See(key, held->second);
        break;
      case 8:
        clock_.Advance(seconds(Random(3)));
        break;
      default:
        Random(20) == 0 ? Flush() : Maintain();
    }
  }
  void Flush() {
    store().FlushAll(0);
    model_.clear();
  }
  // An id that was seen once stands for this value and no other, for ever.
  void See(const std::string& key, Item& item) {
    const std::uint64_t cas = client().Cas(key);
    ASSERT_NE(cas, 0u);
    if (item.cas != 0) {
      ASSERT_EQ(cas, item.cas) << key;
    } else {
      ASSERT_TRUE(seen_.insert(cas).second) << key << ": the id " << cas << " was used before";
    }
    item.cas = cas;
  }
  void Compare() {
    std::size_t live = 0;
    for (auto& [key, item] : model_) {
      StringSink sink;
      const bool found = client().Read(key, {}, sink);
      ASSERT_EQ(found, !Expired(item)) << key;
      if (!found) continue;
      ++live;
      ASSERT_EQ(sink[0].value, item.value) << key;
      ASSERT_EQ(sink[0].meta.client_flags, item.flags) << key;
      const Glimpse glimpse = client().session().Peek(client().session().MakeKey(key));
      ASSERT_EQ(glimpse.exptime, item.exptime) << key;
      if (item.cas != 0) See(key, item);
    }
    for (int i = 0; i < 300; ++i) {
      if (model_.contains(KeyOf(i))) continue;
      ASSERT_FALSE(client().Get(KeyOf(i))) << i;
    }
    const StoreStats stats = store().stats();
    ASSERT_LE(stats.segment_bytes + stats.index_bytes, stats.memory_limit_bytes);
    ASSERT_GE(stats.items, live);
  }

  std::mt19937 random_{GetParam()};
  std::map<std::string, Item> model_;
  std::set<std::uint64_t> seen_;
};

TEST_P(RestartModelTest, NothingIsLostNorComesBack) {
  options_.memory_limit_bytes = 24 << 20;  // Nothing has to be evicted.
  for (int round = 0; round < 8; ++round) {
    Restart();
    ASSERT_NO_FATAL_FAILURE(Compare());
    for (int i = 0; i < 600; ++i) ASSERT_NO_FATAL_FAILURE(Step()) << i;
    ASSERT_NO_FATAL_FAILURE(Compare());
    Stop();
    clock_.Advance(seconds(Random(5)));
    Begin();
    ASSERT_TRUE(warm()) << reason();
    ASSERT_NO_FATAL_FAILURE(Compare());
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, RestartModelTest, ::testing::Range(1U, 9U));

class RestartSizeTest : public RestartTest {
 protected:
  static constexpr int kItems = 40'000;
  // More than fits: the newest are there.
  void FillUp() {
    for (int i = 0; i < kItems; ++i) {
      client().Set(KeyOf(i), std::string(500, 'v'));
      Maintain();
    }
  }
  int Held(int from, int to) {
    int held = 0;
    for (int i = from; i < to; ++i) held += client().Get(KeyOf(i)) ? 1 : 0;
    return held;
  }
};

TEST_F(RestartSizeTest, AFullCacheComesBackWhole) {
  FillUp();
  // Some are used again and reach the main queue.
  Held(kItems - 500, kItems);
  FillUp();
  const StoreStats before = store().stats();
  EXPECT_GT(before.evicted_items, 0u);
  const int held = Held(0, kItems);
  Restart();
  ASSERT_TRUE(warm()) << reason();
  EXPECT_EQ(store().stats().items, before.items);
  EXPECT_EQ(store().stats().item_bytes, before.item_bytes);
  EXPECT_GT(before.main_queue.items, 0u);
  EXPECT_EQ(store().stats().main_queue.items, before.main_queue.items);
  EXPECT_EQ(store().stats().main_queue.item_bytes, before.main_queue.item_bytes);
  EXPECT_EQ(store().stats().ghosts, before.ghosts);
  EXPECT_EQ(Held(0, kItems), held);
  EXPECT_LE(store().stats().segment_bytes + store().stats().index_bytes,
            options_.memory_limit_bytes);
}

TEST_F(RestartSizeTest, ASmallerLimitEvictsTheOldestBeforeItServes) {
  FillUp();
  Stop();
  options_.memory_limit_bytes = 4 << 20;
  Begin();
  ASSERT_TRUE(warm()) << reason();
  const StoreStats stats = store().stats();
  EXPECT_EQ(stats.memory_limit_bytes, options_.memory_limit_bytes);
  EXPECT_LE(stats.segment_bytes + stats.index_bytes, options_.memory_limit_bytes);
  EXPECT_LE(FileMemory(), options_.memory_limit_bytes + 4096);
  EXPECT_EQ(store().restart_report().items, stats.items);
  // At least 2 MiB of the newest.
  EXPECT_EQ(Held(kItems - 4000, kItems), 4000);
  // Of what is new one in 64 is taken for something that was here before, and outlives its age.
  EXPECT_LE(Held(0, kItems - 8000), kItems / 50);
}

TEST_F(RestartSizeTest, WhatIsUsedSurvivesASmallerLimit) {
  FillUp();
  for (int round = 0; round < 2; ++round) Held(kItems - 12'000, kItems - 11'900);
  ASSERT_EQ(Held(kItems - 12'000, kItems - 11'900), 100);
  Stop();
  options_.memory_limit_bytes = 4 << 20;
  Begin();
  EXPECT_EQ(Held(kItems - 12'000, kItems - 11'900), 100);
}

TEST_F(RestartSizeTest, AStopInTheMiddleOfAShrinkKeepsTheRest) {
  FillUp();
  ASSERT_TRUE(store().SetMemoryTarget(options_.memory_limit_bytes / 2));
  while (store().resize_state().evicted_items == 0) ASSERT_TRUE(store().MaintainOnce());
  ASSERT_TRUE(store().MaintainOnce());
  ASSERT_TRUE(store().resize_state().in_progress);
  const StoreStats before = store().stats();
  Restart();
  ASSERT_TRUE(warm()) << reason();
  EXPECT_EQ(store().stats().items, before.items);
  EXPECT_EQ(store().stats().item_bytes, before.item_bytes);
  EXPECT_EQ(static_cast<std::uint64_t>(Held(0, kItems)), before.items);
  // What had gone by then is counted out at last.
  ASSERT_TRUE(store().SetMemoryTarget(options_.memory_limit_bytes / 2));
  Maintain();
  for (int i = 0; i < kItems; ++i) client().Delete(KeyOf(i));
  EXPECT_EQ(store().stats().items, 0u);
  EXPECT_EQ(store().stats().item_bytes, 0u);
}

TEST_F(RestartSizeTest, ALargerLimitLeavesRoomToGrow) {
  FillUp();
  const int held = Held(0, kItems);
  Stop();
  options_.memory_limit_bytes = 32 << 20;
  Begin();
  ASSERT_TRUE(warm()) << reason();
  EXPECT_EQ(Held(0, kItems), held);
  FillUp();
  EXPECT_EQ(Held(0, kItems), kItems);
  EXPECT_EQ(store().stats().evicted_items, 0u);
}

TEST_F(RestartSizeTest, TheSizeStaysFree) {
  FillUp();
  ASSERT_TRUE(store().SetMemoryTarget(4 << 20));
  Maintain();
  EXPECT_LE(FileMemory(), std::uint64_t{4 << 20} + 4096);
  ASSERT_TRUE(store().SetMemoryTarget(16 << 20));
  FillUp();
  EXPECT_GT(FileMemory(), std::uint64_t{12 << 20});
  const int held = Held(0, kItems);
  options_.memory_limit_bytes = 16 << 20;
  Restart();
  ASSERT_TRUE(warm()) << reason();
  EXPECT_EQ(Held(0, kItems), held);
}

TEST_F(RestartSizeTest, WithoutEvictionsNothingIsEvictedAtAStartEither) {
  FillUp();
  Stop();
  options_.memory_limit_bytes = 4 << 20;
  options_.evictions = false;
  ExpectCold("none may be evicted");
}

TEST_F(RestartSizeTest, ALimitTooSmallForTheSegmentsThereBeginsEmpty) {
  Kill();
  options_.memory_limit_bytes = 256 << 20;
  Begin();
  client().Set("k", "v");
  Stop();
  options_.memory_limit_bytes = 4 << 20;
  ExpectCold("too small for segments");
}

// A file system that is full is no memory, not the end.
TEST_F(RestartSizeTest, AFullFileSystemIsLikeAFullCache) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = std::signal(SIGXFSZ, SIG_IGN);
  rlimit limited = before;
  limited.rlim_cur = 3 << 20;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limited), 0);
  for (int i = 0; i < kItems; ++i) {
    ASSERT_EQ(client().Set(KeyOf(i), std::string(500, 'v')), StoreStatus::kStored) << i;
    if (i % 3 == 0) Maintain();
  }
  EXPECT_LE(FileMemory(), std::uint64_t{3 << 20});
  EXPECT_EQ(Held(kItems - 2000, kItems), 2000);
  const StoreStats stats = store().stats();
  Stop();
  ::setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  Begin();
  ASSERT_TRUE(warm()) << reason();
  EXPECT_EQ(store().stats().items, stats.items);
}

}  // namespace
}  // namespace podcache::store
