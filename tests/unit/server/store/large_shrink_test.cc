// A shrink of many segments: eviction by a walk over the index. What goes, what stays, and that the
// figures are exact.
#include <gmock/gmock.h>

#include <set>

#include "tests/unit/server/store/checked_value.h"
#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

constexpr std::uint64_t kLarge = 32 << 20;
constexpr std::uint64_t kSmall = 12 << 20;

std::string KeyOf(std::uint64_t i) { return "a-key-of-some-length-" + std::to_string(i); }

class LargeShrinkTest : public StoreTest {
 protected:
  void SetUp() override { OpenLarge(EvictionKind::kS3Fifo); }
  void OpenLarge(EvictionKind kind, EvictionObserver* observer = nullptr) {
    StoreOptions options = SmallOptions();
    options.memory_limit_bytes = kLarge;
    options.eviction = kind;
    options.eviction_observer = observer;
    Open(options);
  }
  // Items 0 … until something was evicted.
  void Fill(std::size_t words = 20) {
    while (store().stats().evicted_items == 0) {
      for (int i = 0; i < 256; ++i, ++stored_)
        ASSERT_EQ(client().Set(KeyOf(stored_), MakeValue(stored_, stored_, words)),
                  StoreStatus::kStored);
    }
  }
  void Use(std::uint64_t i, int times = 1) {
    while (times-- > 0) client().Get(KeyOf(i));
  }
  // Without a trace.
  bool Has(std::uint64_t i) {
    return client().session().Peek(client().session().MakeKey(KeyOf(i))).presence ==
           Presence::kLive;
  }
  bool Holds(std::uint64_t i) {
    return client().session().Peek(client().session().MakeKey(KeyOf(i))).presence !=
           Presence::kMissing;
  }
  std::uint64_t CountHeld() {
    std::uint64_t held = 0;
    for (std::uint64_t i = 0; i < stored_; ++i) held += Holds(i);
    return held;
  }
  void ShrinkTo(std::uint64_t bytes) {
    client().session().EndTurn();
    ASSERT_TRUE(store().SetMemoryTarget(bytes));
    Maintain();
    ASSERT_FALSE(store().resize_state().in_progress);
    const StoreStats stats = store().stats();
    EXPECT_LE(stats.segment_bytes + stats.index_bytes, bytes);
  }
  // Every item that is there is whole, and the counts say how many there are.
  void CheckFigures(const StoreStats& before) {
    const StoreStats after = store().stats();
    const std::uint64_t held = CountHeld();
    EXPECT_EQ(after.items, held);
    EXPECT_EQ(
        after.evicted_items - before.evicted_items + after.expired_items - before.expired_items,
        before.items - held);
    for (std::uint64_t i = 0; i < stored_; i += 7) {
      const auto value = client().Get(KeyOf(i));
      ASSERT_TRUE(!value || IsWhole(i, *value)) << i;
    }
  }
  // All is accounted for: nothing is left when everything is deleted.
  void CheckNothingIsLeft() {
    for (std::uint64_t i = 0; i < stored_; ++i) client().Delete(KeyOf(i));
    EXPECT_EQ(store().stats().items, 0u);
    EXPECT_EQ(store().stats().item_bytes, 0u);
    EXPECT_EQ(store().stats().main_queue.item_bytes, 0u);
  }
  // Steps of which each does a little, so that something else can happen in between.
  void Step(int steps) {
    while (steps-- > 0 && store().MaintainOnce()) {
    }
  }

  // To the midst of evicting.
  void BeginShrink() {
    ASSERT_TRUE(store().SetMemoryTarget(kSmall));
    for (int i = 0; i < 10'000 && store().resize_state().evicted_items == 0; ++i) Step(1);
    Step(3);
    ASSERT_TRUE(store().resize_state().in_progress);
  }

  std::uint64_t stored_ = 0;
};

TEST_F(LargeShrinkTest, TheOldestGoAndTheFiguresAreExact) {
  Fill();
  const StoreStats before = store().stats();
  ShrinkTo(kSmall);
  CheckFigures(before);
  const StoreStats after = store().stats();
  EXPECT_EQ(after.evicted_unfetched_items - before.evicted_unfetched_items,
            before.items - after.items);
  EXPECT_EQ(after.evicted_active_items, before.evicted_active_items);
  // Items are of one size but for the digits of a key, rounded up to 8 bytes.
  const QueueStats& small = after.small_queue;
  EXPECT_EQ(small.evicted_by_shrink_items, before.items - after.items);
  EXPECT_EQ(small.evicted_by_shrink_bytes, before.item_bytes - after.item_bytes);
  // Most of the room is used.
  EXPECT_GT(after.item_bytes, before.item_bytes * kSmall / kLarge * 85 / 100);
  // The youngest are all there, the oldest are all gone.
  for (std::uint64_t i = stored_ - after.items / 2; i < stored_; ++i) ASSERT_TRUE(Has(i)) << i;
  for (std::uint64_t i = 0; i < stored_ / 2; ++i) ASSERT_FALSE(Has(i)) << i;
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, WhatIsUsedStaysIfItFits) {
  Fill();
  const std::uint64_t first = stored_ - store().stats().items;
  std::set<std::uint64_t> used;
  for (std::uint64_t i = first; i < stored_; ++i) {
    if (i % 7 != 0 || !Has(i)) continue;
    Use(i);
    used.insert(i);
  }
  const StoreStats before = store().stats();
  ShrinkTo(kSmall);
  for (const std::uint64_t i : used) ASSERT_TRUE(Has(i)) << i;
  CheckFigures(before);
  const StoreStats after = store().stats();
  EXPECT_GT(after.main_queue.items, 0u);
  EXPECT_GT(after.kept_items, before.kept_items);
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, OfTooManyUsedOnesTheMostUsedStay) {
  Fill();
  const std::uint64_t first = stored_ - store().stats().items;
  // All are used once, a tenth of the older half is used more often.
  for (std::uint64_t i = first; i < stored_; ++i) Use(i);
  std::set<std::uint64_t> hot;
  for (std::uint64_t i = first; i < stored_ - (stored_ - first) / 2; i += 10) {
    if (!Has(i)) continue;
    Use(i, 2);
    hot.insert(i);
  }
  const StoreStats before = store().stats();
  ShrinkTo(kSmall);
  std::uint64_t kept = 0;
  for (const std::uint64_t i : hot) kept += Has(i);
  // A few go where the first segments are made free one by one.
  EXPECT_GT(kept * 100, hot.size() * 95) << kept << " of " << hot.size();
  CheckFigures(before);
  EXPECT_GT(store().stats().evicted_active_items, before.evicted_active_items);
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, ExpiredAndFlushedItemsAreNotEvicted) {
  while (store().stats().evicted_items == 0) {
    for (int i = 0; i < 256; ++i, ++stored_)
      client().Set(KeyOf(stored_), MakeValue(stored_, 1, 20), 0,
                   stored_ % 2 == 0 ? now() + 10 : now() + 1000);
  }
  const StoreStats before = store().stats();
  clock_.Advance(std::chrono::seconds(11));
  ShrinkTo(kSmall);
  CheckFigures(before);
  const StoreStats after = store().stats();
  EXPECT_GT(after.expired_items, before.items * 45 / 100);
  EXPECT_EQ(after.evicted_with_exptime_items, after.evicted_items);
  store().FlushAll(0);
  client().session().EndTurn();
  ASSERT_TRUE(store().SetMemoryTarget(store().min_memory_limit_bytes()));
  Maintain();
  Maintain();  // What was in an open segment at first.
  EXPECT_EQ(store().stats().items, 0u);
  EXPECT_EQ(store().stats().evicted_items, after.evicted_items);
}

TEST_F(LargeShrinkTest, LargeItemsGoWhole) {
  const auto words = [](std::uint64_t i) { return i % 50 == 0 ? 12'000u : 20u; };
  while (store().stats().evicted_items == 0) {
    for (int i = 0; i < 256; ++i, ++stored_)
      client().Set(KeyOf(stored_), MakeValue(stored_, stored_, words(stored_)));
  }
  for (std::uint64_t i = 0; i < stored_; i += 200) Use(i);
  const StoreStats before = store().stats();
  ShrinkTo(kSmall);
  CheckFigures(before);
  for (std::uint64_t i = 0; i < stored_; i += 50) {
    const auto value = client().Get(KeyOf(i));
    ASSERT_TRUE(!value || IsWhole(i, *value)) << i;
  }
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, OneThatIsTakenBackKeepsTheRest) {
  Fill();
  const StoreStats before = store().stats();
  ASSERT_NO_FATAL_FAILURE(BeginShrink());
  ASSERT_TRUE(store().SetMemoryTarget(kLarge));
  const std::uint64_t held = store().stats().items;
  Maintain();
  EXPECT_EQ(store().stats().items, held);
  CheckFigures(before);
  // And once more, to the end.
  ShrinkTo(kSmall);
  CheckFigures(before);
  CheckNothingIsLeft();
}

// Items that were evicted without being looked at are counted out by their bytes, too, when their
// segments stay.
TEST_F(LargeShrinkTest, OneThatIsTakenBackCountsWhatHasGone) {
  Fill();
  const StoreStats before = store().stats();
  ASSERT_NO_FATAL_FAILURE(BeginShrink());
  ASSERT_TRUE(store().SetMemoryTarget(kLarge));
  Maintain();
  const StoreStats after = store().stats();
  ASSERT_LT(after.items, before.items);
  const QueueStats& small = after.small_queue;
  EXPECT_EQ(small.evicted_by_shrink_items, before.items - after.items);
  EXPECT_EQ(small.evicted_by_shrink_bytes, before.item_bytes - after.item_bytes);
  // All items are of a size, but for the digits of a key.
  const double bytes = static_cast<double>(before.item_bytes) / static_cast<double>(before.items);
  EXPECT_NEAR(static_cast<double>(after.item_bytes), bytes * static_cast<double>(after.items),
              8 * static_cast<double>(after.items));
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, WhatGoesIsKnownWhenItComesBack) {
  Fill();
  const std::uint64_t ghosts = store().stats().ghosts;
  ShrinkTo(kSmall);
  EXPECT_GT(store().stats().ghosts, ghosts);
  // The last that were evicted. One in 64 of others would be taken for known.
  std::uint64_t first = stored_;
  while (first > 0 && Has(first - 1)) --first;
  const std::uint64_t evicted = std::min<std::uint64_t>(first, 2000);
  std::set<std::uint64_t> back;
  for (std::uint64_t i = first - evicted; i < first; ++i) {
    ASSERT_FALSE(Has(i)) << i;
    ASSERT_EQ(client().Set(KeyOf(i), MakeValue(i, i, 20)), StoreStatus::kStored);
    back.insert(i);
  }
  const std::uint64_t kept_before = store().stats().kept_items;
  // Other new ones push them through the small queue.
  for (std::uint64_t i = stored_; i < stored_ + 60'000; ++i)
    client().Set(KeyOf(i), MakeValue(i, i, 20));
  Maintain();
  std::uint64_t kept = 0;
  for (const std::uint64_t i : back) kept += Has(i);
  // Smaller arrays have room for fewer ghosts.
  EXPECT_GT(kept * 100, evicted * 40) << kept << " of " << evicted;
  EXPECT_GT(store().stats().kept_items, kept_before);
}

TEST_F(LargeShrinkTest, ALowerTargetMidwayIsReached) {
  Fill();
  const StoreStats before = store().stats();
  ASSERT_TRUE(store().SetMemoryTarget(kSmall * 2));
  Step(20);
  ShrinkTo(kSmall);
  CheckFigures(before);
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, TheStoreIsUsedBetweenItsSteps) {
  Fill();
  ASSERT_TRUE(store().SetMemoryTarget(kSmall));
  std::uint64_t refused = 0;
  for (std::uint64_t n = 0; store().MaintainOnce(); ++n) {
    const std::uint64_t i = stored_ - 1 - n * 37 % (stored_ / 2);
    if (n % 3 == 0) client().Delete(KeyOf(i));
    if (n % 3 == 1) refused += client().Set(KeyOf(i), MakeValue(i, n, 25)) != StoreStatus::kStored;
    if (n % 3 == 2) Use(i, 3);
    if (n == 40) store().FlushAll(0);
  }
  EXPECT_EQ(refused, 0u);
  ASSERT_FALSE(store().resize_state().in_progress);
  EXPECT_EQ(store().stats().items, CountHeld());
  CheckNothingIsLeft();
}

TEST_F(LargeShrinkTest, AStoreMayEndMidway) {
  Fill();
  ASSERT_NO_FATAL_FAILURE(BeginShrink());
}

TEST_F(LargeShrinkTest, OtherPoliciesToo) {
  for (const EvictionKind kind : {EvictionKind::kSecondChance, EvictionKind::kFifo}) {
    stored_ = 0;
    OpenLarge(kind);
    Fill();
    const std::uint64_t first = stored_ - store().stats().items;
    std::set<std::uint64_t> used;
    for (std::uint64_t i = first; i < stored_ - (stored_ - first) * 3 / 4; i += 10) {
      if (!Has(i)) continue;
      Use(i);
      used.insert(i);
    }
    const StoreStats before = store().stats();
    ShrinkTo(kSmall);
    for (const std::uint64_t i : used) ASSERT_EQ(Has(i), kind == EvictionKind::kSecondChance) << i;
    CheckFigures(before);
    CheckNothingIsLeft();
  }
}

class Recorder final : public EvictionObserver {
 public:
  bool Wants() const noexcept override { return wants; }
  void OnEvicted(const EvictedItem&) noexcept override { ++told; }
  bool wants = false;
  std::uint64_t told = 0;
};

TEST_F(LargeShrinkTest, WhoObservesIsToldOfEachItem) {
  Recorder recorder;
  OpenLarge(EvictionKind::kS3Fifo, &recorder);
  Fill();
  ASSERT_NO_FATAL_FAILURE(BeginShrink());
  const StoreStats before = store().stats();
  recorder.wants = true;
  Maintain();
  const StoreStats after = store().stats();
  EXPECT_FALSE(store().resize_state().in_progress);
  EXPECT_GT(recorder.told, 0u);
  EXPECT_EQ(recorder.told, after.evicted_items - before.evicted_items);
  client_.reset();
  store_.reset();
}

}  // namespace
}  // namespace podcache::store
