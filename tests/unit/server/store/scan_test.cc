// Walks over all items: each exactly once, whatever happens between two steps.
#include <algorithm>
#include <map>
#include <set>
#include <string>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

class Collector final : public ItemVisitor {
 public:
  explicit Collector(bool want_cas = false) : want_cas_(want_cas) {}
  void Visit(const ItemView& item) override {
    ++seen[std::string(item.key)];
    last = item;
    ++in_step;
  }
  bool wants_cas() const noexcept override { return want_cas_; }

  std::map<std::string, int> seen;
  ItemView last;
  int in_step = 0;

 private:
  bool want_cas_;
};

std::string KeyOf(int i) { return "key:" + std::to_string(i); }

class ScanTest : public StoreTest {
 protected:
  static StoreOptions Options() {
    StoreOptions options = SmallOptions();
    options.memory_limit_bytes = 64 << 20;
    return options;
  }
  void SetUp() override { Open(Options()); }
  void Walk(Collector& collector) {
    ScanCursor cursor;
    while (store().Scan(cursor, collector)) {
    }
  }
};

TEST_F(ScanTest, EveryItemExactlyOnceInBoundedSteps) {
  constexpr int kItems = 100'000;
  for (int i = 0; i < kItems; ++i) ASSERT_EQ(client().Set(KeyOf(i), "v"), StoreStatus::kStored);
  Collector collector;
  ScanCursor cursor;
  int largest_step = 0;
  for (bool more = true; more;) {
    collector.in_step = 0;
    more = store().Scan(cursor, collector);
    largest_step = std::max(largest_step, collector.in_step);
  }
  EXPECT_EQ(collector.seen.size(), std::size_t{kItems});
  for (const auto& [key, times] : collector.seen) ASSERT_EQ(times, 1) << key;
  // Sixteen buckets of seven, and what overflowed into them.
  EXPECT_LE(largest_step, 16 * 7 * 2);
}

TEST_F(ScanTest, EmptyStoreAndLastPartition) {
  Collector collector;
  Walk(collector);
  EXPECT_TRUE(collector.seen.empty());
  client().Set("only", "v");
  Walk(collector);
  EXPECT_EQ(collector.seen, (std::map<std::string, int>{{"only", 1}}));
}

// Between the steps arrays grow and shrink, records move, others come and go.
TEST_F(ScanTest, StableItemsAreShownOnceWhileOthersChange) {
  constexpr int kStable = 5'000;
  for (int i = 0; i < kStable; ++i) client().Set(KeyOf(i), "v");
  Collector collector;
  ScanCursor cursor;
  int step = 0;
  while (store().Scan(cursor, collector)) {
    for (int i = 0; i < 40; ++i) client().Set("new:" + std::to_string(step * 40 + i), "v");
    if (step % 3 == 0) {
      for (int i = 0; i < 60; ++i) client().Delete("new:" + std::to_string(step * 20 + i));
    }
    client().Set(KeyOf(step % kStable), std::string(100 + static_cast<std::size_t>(step), 'x'));
    ++step;
  }
  for (int i = 0; i < kStable; ++i) ASSERT_EQ(collector.seen[KeyOf(i)], 1) << i;
  for (const auto& [key, times] : collector.seen) ASSERT_EQ(times, 1) << key;
}

TEST_F(ScanTest, ExpiredAndFlushedItemsAreNotShown) {
  client().Set("a", "v", 0, now() + 5);
  client().Set("b", "v");
  clock_.Advance(std::chrono::seconds(5));
  Collector after_expiry;
  Walk(after_expiry);
  EXPECT_EQ(after_expiry.seen, (std::map<std::string, int>{{"b", 1}}));
  store().FlushAll(0);
  client().Set("c", "v");
  Collector after_flush;
  Walk(after_flush);
  EXPECT_EQ(after_flush.seen, (std::map<std::string, int>{{"c", 1}}));
}

TEST_F(ScanTest, ShowsWhatIsKnownOfAnItem) {
  const std::int64_t stored = now();
  client().Set("k", std::string(1000, 'v'), 77, stored + 500);
  clock_.Advance(std::chrono::seconds(9));
  Collector collector(true);
  Walk(collector);
  EXPECT_EQ(collector.last.client_flags, 77U);
  EXPECT_EQ(collector.last.exptime, stored + 500);
  EXPECT_EQ(collector.last.value_bytes, 1000U);
  EXPECT_GT(collector.last.item_bytes, 1000U);
  EXPECT_EQ(collector.last.last_access_seconds, stored);
  EXPECT_FALSE(collector.last.fetched);
  EXPECT_EQ(collector.last.cas, client().Cas("k"));
  client().Get("k");
  Walk(collector);
  EXPECT_TRUE(collector.last.fetched);
}

// An id that was shown is known to a client: a later write must change it.
TEST_F(ScanTest, ACasIdThatWasShownChangesWithTheValue) {
  client().Set("k", "old");
  Collector collector(true);
  Walk(collector);
  const std::uint64_t shown = collector.last.cas;
  client().Set("k", "new");
  WriteOptions options{.mode = WriteMode::kCas, .compare_cas = shown};
  EXPECT_EQ(client().Write("k", "lost", options).status, StoreStatus::kExists);
  EXPECT_EQ(client().Get("k"), "new");
}

TEST_F(ScanTest, ARequestedSweepRemovesWhatHasExpired) {
  for (int i = 0; i < 1000; ++i) client().Set(KeyOf(i), std::string(2000, 'v'), 0, now() + 2);
  Maintain();  // The next sweep would be due later.
  clock_.Advance(std::chrono::milliseconds(2000));
  store().RequestSweep();
  Maintain();
  const StoreStats stats = store().stats();
  // All but what lies in the segments still open.
  EXPECT_GT(stats.expired_in_sweep_items, 500U);
  EXPECT_EQ(stats.items, 1000U - stats.expired_in_sweep_items);
  EXPECT_GE(stats.swept_items, stats.expired_in_sweep_items);
}

// Room of expired items is used again before new memory is.
TEST_F(ScanTest, DeadSegmentsAreUsedAgain) {
  const std::string value(66'560, 'v');
  for (int i = 0; i < 40; ++i) client().Set(KeyOf(i), value, 0, now() + 2);
  // As at the end of every turn: nobody writes.
  client().session().EndTurn();
  const std::uint64_t before = store().stats().segment_bytes;
  clock_.Advance(std::chrono::seconds(4));
  Maintain();
  for (int i = 40; i < 80; ++i) client().Set(KeyOf(i), value, 0, now() + 2);
  EXPECT_LE(store().stats().segment_bytes, before + store().stats().segment_size_bytes);
}

// Values of many pieces in a tiny cache: making room for one must not throw out all others.
TEST_F(ScanTest, AFullTinyCacheEvictsAboutAsMuchAsComesIn) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 3 << 20;
  Open(options);
  const std::string value(66'560, 'v');
  for (int i = 0; i < 45; ++i) ASSERT_EQ(client().Set(KeyOf(i), value), StoreStatus::kStored);
  const std::uint64_t before = store().stats().evicted_items;
  EXPECT_GT(before, 0U);
  for (int i = 45; i < 145; ++i) ASSERT_EQ(client().Set(KeyOf(i), value), StoreStatus::kStored);
  EXPECT_LE(store().stats().evicted_items, before + 110);
  EXPECT_GE(store().stats().items, 30U);
}

}  // namespace
}  // namespace podcache::store
