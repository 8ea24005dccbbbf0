// What the store tells others: a glimpse of an item, evictions; and what others charge.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

class Recorder final : public EvictionObserver {
 public:
  bool Wants() const noexcept override { return wants; }
  void OnEvicted(const EvictedItem& item) noexcept override {
    keys.emplace_back(item.key);
    last = item;
  }
  bool wants = false;
  std::vector<std::string> keys;
  EvictedItem last;  // But for its key.
};

class StoreObserverTest : public StoreTest {
 protected:
  // The store does not outlive its observer.
  void TearDown() override {
    client_.reset();
    store_.reset();
  }
  // A full store of 2 MiB, and whether anything was evicted in making it.
  void OpenFull() {
    StoreOptions options = SmallOptions();
    options.memory_limit_bytes = 2 << 20;
    options.eviction_observer = &recorder_;
    Open(options);
    while (store().stats().evicted_items == 0) SetNext();
    Maintain();
  }
  void SetNext() {
    ASSERT_EQ(client().Set("key" + std::to_string(next_++), std::string(100, 'v'), 0, now() + 1000),
              StoreStatus::kStored);
  }

  Recorder recorder_;
  int next_ = 0;
};

TEST_F(StoreObserverTest, TellsEveryEvictionWhileItIsWanted) {
  OpenFull();
  EXPECT_TRUE(recorder_.keys.empty());
  recorder_.wants = true;
  const std::uint64_t before = store().stats().evicted_items;
  for (int i = 0; i < 20'000; ++i) SetNext();
  EXPECT_EQ(recorder_.keys.size(), store().stats().evicted_items - before);
  EXPECT_FALSE(recorder_.keys.empty());
  EXPECT_EQ(recorder_.last.value_bytes, 100U);
  EXPECT_EQ(recorder_.last.exptime, now() + 1000);
  EXPECT_FALSE(recorder_.last.fetched);
}

TEST_F(StoreObserverTest, WhoBeginsToObserveAFullStoreIsShownAnEviction) {
  OpenFull();
  recorder_.wants = true;
  Maintain();
  const std::size_t shown = recorder_.keys.size();
  EXPECT_GT(shown, 0U);
  // Once.
  Maintain();
  EXPECT_EQ(recorder_.keys.size(), shown);
  recorder_.wants = false;
  Maintain();
  recorder_.wants = true;
  Maintain();
  EXPECT_GT(recorder_.keys.size(), shown);
}

TEST_F(StoreObserverTest, NothingIsEvictedForTheObserverOfAStoreWithRoom) {
  StoreOptions options = SmallOptions();
  options.eviction_observer = &recorder_;
  Open(options);
  recorder_.wants = true;
  client().Set("a", "b");
  Maintain();
  EXPECT_TRUE(recorder_.keys.empty());
  EXPECT_EQ(store().stats().items, 1U);
}

TEST_F(StoreObserverTest, PeekSeesWithoutTouching) {
  Open(SmallOptions());
  StoreSession& session = client().session();
  const auto peek = [&](std::string_view key) { return session.Peek(session.MakeKey(key)); };
  EXPECT_EQ(peek("a").presence, Presence::kMissing);
  client().Set("a", "value", 0, now() + 10);
  EXPECT_EQ(peek("a").presence, Presence::kLive);
  EXPECT_EQ(peek("a").value_bytes, 5U);
  EXPECT_EQ(peek("a").exptime, now() + 10);
  clock_.Advance(std::chrono::seconds(11));
  EXPECT_EQ(peek("a").presence, Presence::kExpired);
  EXPECT_EQ(store().stats().items, 1U);
  client().Set("b", std::string(100'000, 'x'));
  EXPECT_EQ(peek("b").value_bytes, 100'000U);
  store().FlushAll(0);
  EXPECT_EQ(peek("b").presence, Presence::kFlushed);
}

// The figures that memcached calls age and evicted_time.
TEST_F(StoreObserverTest, HowLongWhatGoesNextHasNotBeenUsed) {
  EXPECT_EQ(store().NextVictimIdleSeconds(), 0U);
  OpenFull();
  EXPECT_EQ(store().NextVictimIdleSeconds(), 0U);
  clock_.Advance(std::chrono::seconds(50));
  EXPECT_EQ(store().NextVictimIdleSeconds(), 50U);
  const std::uint64_t before = store().stats().evicted_items;
  while (store().stats().evicted_items == before) SetNext();
  EXPECT_EQ(store().stats().last_evicted_idle_seconds, 50U);
  EXPECT_EQ(store().stats().evicted_active_items, 0U);
}

// All is used all the time: most is kept for that, and what does not fit into the share of those
// goes.
TEST_F(StoreObserverTest, UsedItemsAreKeptOrCountedAsEvictedActive) {
  OpenFull();
  EXPECT_EQ(store().stats().evicted_active_items, 0U);
  EXPECT_EQ(store().stats().kept_items, 0U);
  for (int round = 0; round < 20 && store().stats().evicted_active_items == 0; ++round) {
    for (int i = 0; i < next_; ++i) client().Get("key" + std::to_string(i));
    const std::uint64_t before = store().stats().evicted_items;
    while (store().stats().evicted_items == before) SetNext();
  }
  const StoreStats stats = store().stats();
  EXPECT_GT(stats.evicted_active_items, 0U);
  EXPECT_GT(stats.kept_items, stats.evicted_active_items);
  EXPECT_GT(stats.direct_reclaims, 0U);  // Nobody works in the background here.
}

TEST_F(StoreObserverTest, WhoChargesMuchMakesRoomAtOnce) {
  OpenFull();
  const auto used = [&] {
    const StoreStats stats = store().stats();
    return stats.segment_bytes + stats.index_bytes + stats.external_bytes + stats.overhead_bytes;
  };
  for (int i = 0; i < 20; ++i) {
    store().ChargeExternal(32 << 10);
    store().MakeRoom();
    EXPECT_LE(used(), 2U << 20);
  }
  store().ChargeExternal(-20 * (32 << 10));
}

TEST_F(StoreObserverTest, TheProcessCountsUpToASixtyFourth) {
  OpenFull();
  store().SetOverhead(1000);
  EXPECT_EQ(store().stats().overhead_bytes, 1000U);
  store().SetOverhead(1 << 20);
  EXPECT_EQ(store().stats().overhead_bytes, 32U << 10);
  Maintain();
  const StoreStats stats = store().stats();
  EXPECT_LE(stats.segment_bytes + stats.index_bytes + stats.external_bytes + (32U << 10), 2U << 20);
}

}  // namespace
}  // namespace podcache::store
