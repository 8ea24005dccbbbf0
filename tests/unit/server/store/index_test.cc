#include "server/store/index.h"

#include <gtest/gtest.h>

#include <random>
#include <unordered_map>

namespace podcache::store {
namespace {

class IndexTest : public ::testing::Test {
 protected:
  static std::uint64_t HashOf(std::uint64_t i) { return (i + 1) * 0x9e3779b97f4a7c15 ^ (i << 17); }
  // Under the partition's lock, as every use must be.
  template <class Body>
  auto With(Index& index, std::uint64_t hash, Body&& body) NO_THREAD_SAFETY_ANALYSIS {
    Partition& partition = index.PartitionOf(hash);
    SpinLockHolder lock(partition.lock);
    return body(partition);
  }
  bool Insert(Index& index, std::uint64_t hash, Location location) {
    return With(index, hash, [&](Partition& p) NO_THREAD_SAFETY_ANALYSIS {
      return index.Insert(p, hash, location);
    });
  }
  bool Has(Index& index, std::uint64_t hash, Location location) {
    return With(index, hash, [&](Partition& p) NO_THREAD_SAFETY_ANALYSIS {
      return index.Find(p, hash, [&](Location l) { return l == location; }) != nullptr;
    });
  }
  void Remove(Index& index, std::uint64_t hash, Location location) {
    With(index, hash, [&](Partition& p) NO_THREAD_SAFETY_ANALYSIS {
      index.Remove(p, index.Find(p, hash, [&](Location l) { return l == location; }));
      return 0;
    });
  }

  memory::AllocationGate gate_;
  memory::MemoryBudget budget_{1 << 30};
};

TEST_F(IndexTest, SlotKeepsItsParts) {
  Slot slot;
  EXPECT_TRUE(slot.empty());
  const Location far = (std::uint64_t{1} << kLocationBits) - 1;
  slot.Set((1U << Slot::kTagBits) - 1, 2, far);
  EXPECT_EQ(slot.tag(), (1U << Slot::kTagBits) - 1);
  EXPECT_EQ(slot.frequency(), 2u);
  EXPECT_EQ(slot.location(), far);
  slot.Touch();
  slot.Touch();
  EXPECT_EQ(slot.frequency(), 3u);
  EXPECT_EQ(slot.location(), far);
  slot.SetFrequency(0);
  slot.SetLocation(5);
  EXPECT_EQ(slot.location(), 5u);
  EXPECT_EQ(slot.frequency(), 0u);
}

TEST_F(IndexTest, GhostsAreTheLastFourAndTakenOnce) {
  Ghosts ghosts;
  EXPECT_TRUE(ghosts.empty());
  EXPECT_FALSE(ghosts.Take(1));
  for (const std::uint32_t print : {1U, 2U, 3U, 255U, 5U}) ghosts.Add(print);
  EXPECT_FALSE(ghosts.Take(1));
  EXPECT_TRUE(ghosts.Take(3));
  EXPECT_FALSE(ghosts.Take(3));
  ghosts.Add(6);
  for (const std::uint32_t print : {2U, 5U, 6U, 255U}) EXPECT_TRUE(ghosts.Take(print)) << print;
  EXPECT_TRUE(ghosts.empty());
  // None looks like no ghost.
  EXPECT_NE(Ghosts::PrintOf(0), 0U);
  EXPECT_EQ(Ghosts::PrintOf(Index::kTags - 1), Ghosts::kMask);
}

// A key with a ghost counts as used when it is entered, others do not.
TEST_F(IndexTest, AnEntryWithAGhostCountsAsUsed) {
  Index index(1, budget_, gate_);
  const auto frequency = [&](std::uint64_t hash) {
    return With(index, hash, [&](Partition& p) NO_THREAD_SAFETY_ANALYSIS {
      return index.Find(p, hash, [&](Location) { return true; })->frequency();
    });
  };
  // Of one bucket, but for the fingerprint.
  const std::uint64_t known = 0x1234;
  const std::uint64_t other = 0x1235;
  ASSERT_TRUE(Insert(index, known, 1));
  EXPECT_EQ(frequency(known), 0U);
  Remove(index, known, 1);
  With(index, known, [&](Partition& p) NO_THREAD_SAFETY_ANALYSIS {
    index.AddGhost(p, Index::Tag(known));
    return 0;
  });
  ASSERT_TRUE(Insert(index, other, 2));
  EXPECT_EQ(frequency(other), 0U);
  Remove(index, other, 2);
  ASSERT_TRUE(Insert(index, known, 3));
  EXPECT_EQ(frequency(known), 1U);
  Remove(index, known, 3);
  ASSERT_TRUE(Insert(index, known, 4));
  EXPECT_EQ(frequency(known), 0U);
}

TEST_F(IndexTest, GrowsAndShrinksWithItsEntries) {
  Index index(4, budget_, gate_);
  constexpr std::uint64_t kEntries = 100'000;
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(Insert(index, HashOf(i), i + 1));
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_TRUE(Has(index, HashOf(i), i + 1));
  // Never fuller than its bound, and never much emptier than one step of growth leaves it.
  EXPECT_LE(kEntries, index.slots() * 92 / 100);
  EXPECT_GE(kEntries, index.slots() * 85 / 100);
  EXPECT_EQ(budget_.index_bytes(),
            index.slots() / Bucket::kSlots * sizeof(Bucket) + 4 * sizeof(Partition));
  for (std::uint64_t i = 0; i < kEntries; ++i) {
    if (i % 10 != 0) Remove(index, HashOf(i), i + 1);
  }
  for (std::uint64_t i = 0; i < kEntries; ++i) ASSERT_EQ(Has(index, HashOf(i), i + 1), i % 10 == 0);
  EXPECT_LE(index.slots(), kEntries / 10 * 100 / 44);
}

TEST_F(IndexTest, ManyEntriesOfOneTag) {
  Index index(1, budget_, gate_);
  // All in one home bucket: they spill over into the following ones and are found there.
  for (Location l = 1; l <= 100; ++l) ASSERT_TRUE(Insert(index, 42, l));
  for (Location l = 1; l <= 100; ++l) ASSERT_TRUE(Has(index, 42, l));
  for (Location l = 1; l <= 100; l += 2) Remove(index, 42, l);
  for (Location l = 1; l <= 100; ++l) ASSERT_EQ(Has(index, 42, l), l % 2 == 0);
}

TEST_F(IndexTest, RandomOperationsAgreeWithAMap) {
  Index index(2, budget_, gate_);
  std::mt19937_64 random(11);
  std::unordered_map<std::uint64_t, Location> model;
  for (int i = 0; i < 200'000; ++i) {
    const std::uint64_t hash = HashOf(random() % 5000);
    const auto known = model.find(hash);
    if (known == model.end()) {
      const Location location = 1 + random() % 1'000'000;
      ASSERT_TRUE(Insert(index, hash, location));
      model[hash] = location;
    } else if (random() % 3 != 0) {
      ASSERT_TRUE(Has(index, hash, known->second));
    } else {
      Remove(index, hash, known->second);
      ASSERT_FALSE(Has(index, hash, known->second));
      model.erase(known);
    }
  }
  std::uint64_t items = 0;
  for (std::size_t i = 0; i < index.partition_count(); ++i)
    items += index.partition(i).items.Read();
  EXPECT_EQ(items, model.size());
}

TEST_F(IndexTest, WithoutMemoryTheArrayIsFilledToTheLastSlot) {
  Index index(1, budget_, gate_);
  ASSERT_TRUE(Insert(index, HashOf(0), 1));
  const std::uint64_t slots = index.slots();
  std::uint64_t n = 1;
  while (n < slots) {
    gate_.FailAfter(0);
    ASSERT_TRUE(Insert(index, HashOf(n), n + 1)) << n;
    ++n;
  }
  gate_.FailAfter(0);
  EXPECT_FALSE(Insert(index, HashOf(n), n + 1));
  gate_.Disarm();
  EXPECT_TRUE(Insert(index, HashOf(n), n + 1));
  for (std::uint64_t i = 0; i <= n; ++i) ASSERT_TRUE(Has(index, HashOf(i), i + 1));
}

}  // namespace
}  // namespace podcache::store
