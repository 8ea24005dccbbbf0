#include "server/store/segment_log.h"

#include <gtest/gtest.h>

#include <map>
#include <set>

#include "server/memory/poison.h"
#include "tests/unit/server/store/table_fixture.h"

namespace podcache::store {
namespace {

class SegmentLogTest : public ::testing::Test {
 protected:
  // Fills whole segments with padding-like records of the writer; returns the first location of
  // each.
  std::vector<std::uint32_t> FillSegments(int n) {
    std::vector<std::uint32_t> ids;
    for (int i = 0; i < n; ++i) {
      const Reservation r = parts_.log.Reserve(Stream::kHead, TableParts::kSegmentBytes,
                                               TableParts::kSegmentBytes, 1, Claim::kWrite);
      EXPECT_TRUE(r.valid());
      Record(parts_.log.At(parts_.log.LocationOf(r.segment, r.offset)))
          .WritePieceHeader(r.bytes, 0);
      parts_.log.CloseReservation(r, r.bytes);
      ids.push_back(r.segment);
    }
    // Seals the last one.
    const Reservation next = parts_.log.Reserve(Stream::kHead, 8, 8, 1, Claim::kWrite);
    parts_.log.CloseReservation(next, 0);
    return ids;
  }

  TableParts parts_{16};
};

TEST_F(SegmentLogTest, OldestFirst) {
  const std::vector<std::uint32_t> ids = FillSegments(5);
  for (const std::uint32_t id : ids) {
    const Victim victim = parts_.log.PickVictim(true, {});
    EXPECT_EQ(victim.kind, VictimKind::kOldest);
    EXPECT_EQ(victim.segment, id);
    EXPECT_TRUE(parts_.log.Retire(id));
  }
  EXPECT_EQ(parts_.log.PickVictim(true, {}).kind, VictimKind::kNone);
}

TEST_F(SegmentLogTest, MostlyDeadBeforeOldest) {
  const std::vector<std::uint32_t> ids = FillSegments(5);
  parts_.log.MarkDead(parts_.log.LocationOf(ids[3], 0), TableParts::kSegmentBytes / 4);
  const Victim victim = parts_.log.PickVictim(true, {});
  EXPECT_EQ(victim.kind, VictimKind::kMostlyDead);
  EXPECT_EQ(victim.segment, ids[3]);
  parts_.log.Abandon(ids[3]);
  EXPECT_EQ(parts_.log.PickVictim(true, {}).segment, ids[0]);
}

TEST_F(SegmentLogTest, WithoutEvictionOnlyDeadSpaceIsReclaimed) {
  const std::vector<std::uint32_t> ids = FillSegments(5);
  EXPECT_EQ(parts_.log.PickVictim(false, {}).kind, VictimKind::kNone);
  parts_.log.MarkDead(parts_.log.LocationOf(ids[2], 0), TableParts::kSegmentBytes / 16);
  parts_.log.MarkDead(parts_.log.LocationOf(ids[4], 0), TableParts::kSegmentBytes / 8);
  EXPECT_EQ(parts_.log.PickVictim(false, {}).segment, ids[4]);
}

TEST_F(SegmentLogTest, ReadersHoldASegment) {
  const std::vector<std::uint32_t> ids = FillSegments(3);
  parts_.log.PinReader(ids[0]);
  EXPECT_EQ(parts_.log.PickVictim(true, {}).segment, ids[1]);
  // A reader that came after the choice: the memory is free only when it is gone.
  parts_.log.PinReader(ids[1]);
  EXPECT_FALSE(parts_.log.Retire(ids[1]));
  const std::uint32_t free = parts_.pool.free_segments();
  parts_.log.UnpinReader(ids[1]);
  EXPECT_EQ(parts_.pool.free_segments(), free + 1);
}

TEST_F(SegmentLogTest, AnIdleWriterHoldsNothingBack) {
  ASSERT_TRUE(parts_.Insert("k", "v"));
  const std::vector<std::uint32_t> ids = FillSegments(3);
  // The writer's chunk lies in the first segment: in use while acquired, closed for it afterwards.
  const Victim busy = parts_.log.PickVictim(true, {});
  EXPECT_EQ(busy.segment, ids[0]);
  parts_.log.Abandon(ids[0]);
  parts_.writer.Release();
  const Victim idle = parts_.log.PickVictim(true, {});
  EXPECT_NE(idle.segment, ids[0]);
  parts_.writer.Acquire();
  EXPECT_EQ(parts_.writer.TryAllocate(64, 1), kNowhere);
}

TEST_F(SegmentLogTest, PositionsAreNeverUsedTwice) {
  std::set<std::uint64_t> seen;
  for (int round = 0; round < 20; ++round) {
    for (const std::uint32_t id : FillSegments(2)) {
      EXPECT_TRUE(seen.insert(parts_.log.PositionOf(parts_.log.LocationOf(id, 0))).second);
    }
    for (Victim v = parts_.log.PickVictim(true, {}); v.segment != kNoSegment;
         v = parts_.log.PickVictim(true, {})) {
      parts_.log.Retire(v.segment);
    }
  }
  EXPECT_EQ(seen.count(0), 0u);
}

TEST_F(SegmentLogTest, ASegmentBelongsToOneEpoch) {
  const Reservation one = parts_.log.Reserve(Stream::kHead, 64, 64, 1, Claim::kWrite);
  parts_.log.CloseReservation(one, 64);
  const Reservation two = parts_.log.Reserve(Stream::kHead, 64, 64, 2, Claim::kWrite);
  EXPECT_NE(one.segment, two.segment);
  EXPECT_EQ(two.epoch, 2u);
  // Who is late gets room of the newer epoch and sees that.
  const Reservation late = parts_.log.Reserve(Stream::kHead, 64, 64, 1, Claim::kWrite);
  EXPECT_EQ(late.epoch, 2u);
  parts_.log.CloseReservation(two, 64);
  parts_.log.CloseReservation(late, 64);
}

TEST_F(SegmentLogTest, ChunksGrowWhereTheyAreWhenNobodyElseWrites) {
  // Then nothing is lost between records, only at the end of a segment.
  for (int i = 0; i < 300; ++i) {
    ASSERT_TRUE(parts_.Insert("key" + std::to_string(i), std::string(600, 'v')));
  }
  std::uint32_t padding = 0;
  for (std::uint32_t id = 1; id < parts_.pool.used_id_limit(); ++id) {
    padding += parts_.log.segment(id).padding.load();
  }
  EXPECT_EQ(parts_.pool.used_id_limit(), 4u);  // 300 records of 616 bytes need three segments.
  EXPECT_LT(padding, 2 * 616u);
}

TEST_F(SegmentLogTest, DeadValuesArePoisoned) {
#ifndef PODCACHE_ADDRESS_SANITIZER
  GTEST_SKIP() << "needs the address sanitizer";
#endif
  ASSERT_TRUE(parts_.Insert("k", std::string(100, 'v')));
  const std::uint64_t hash = parts_.hasher.Hash("k");
  Partition& partition = parts_.table.PartitionOf(hash);
  char* value = nullptr;
  {
    SpinLockHolder lock(partition.lock);
    const Found found = parts_.table.Find(partition, "k", hash, parts_.moment());
    value = found.record.Value(found.header);
  }
  EXPECT_FALSE(memory::IsPoisoned(value + 50));
  parts_.Remove("k");
  EXPECT_TRUE(memory::IsPoisoned(value + 50));
}

// Half of a log of 256 segments is full of what never expires.
class LifetimeTest : public ::testing::Test {
 protected:
  static constexpr std::uint32_t kBytes = TableParts::kSegmentBytes / 4;

  LifetimeTest() {
    for (int i = 0; i < 4 * 160; ++i) Store(kForever);
  }
  // The segment where it went; kNoSegment without room.
  std::uint32_t Store(Lifetime lifetime) {
    const Reservation r =
        parts_.log.Reserve(Stream::kHead, kBytes, kBytes, 1, Claim::kWrite, kNoSegment, lifetime);
    if (!r.valid()) return kNoSegment;
    Record(parts_.log.At(parts_.log.LocationOf(r.segment, r.offset))).WritePieceHeader(r.bytes, 0);
    parts_.log.CloseReservation(r, r.bytes);
    return r.segment;
  }
  void FreeOldest(int n) {
    for (int i = 0; i < n; ++i) {
      const Victim victim = parts_.log.PickVictim(true, {});
      ASSERT_TRUE(parts_.log.Retire(victim.segment));
    }
  }

  TableParts parts_{256};
};

TEST_F(LifetimeTest, WhatIsStoredOftenHasSegmentsOfItsOwn) {
  constexpr Lifetime kStored[] = {kForever, 1, 4};
  for (int i = 0; i < 50; ++i) {
    for (const Lifetime lifetime : kStored) ASSERT_NE(Store(lifetime), kNoSegment);
  }
  std::map<std::uint32_t, std::set<Lifetime>> held;
  for (int i = 0; i < 50; ++i) {
    for (const Lifetime lifetime : kStored) held[Store(lifetime)].insert(lifetime);
  }
  for (const auto& [segment, lifetimes] : held) EXPECT_EQ(lifetimes.size(), 1u) << segment;
  EXPECT_EQ(parts_.log.open_segments(), std::size(kStored));
}

TEST_F(LifetimeTest, WhatIsStoredRarelyLiesWithTheRest) {
  for (int i = 0; i < 200; ++i) Store(i % 20 == 0 ? 2 : kForever);
  EXPECT_EQ(parts_.log.open_segments(), 1u);
}

// What is not stored any more holds no segment open.
TEST_F(LifetimeTest, ASegmentOfItsOwnIsGivenUp) {
  for (int i = 0; i < 60; ++i) {
    Store(kForever);
    Store(3);
  }
  EXPECT_EQ(parts_.log.open_segments(), 2u);
  FreeOldest(60);
  for (int i = 0; i < 4 * 100; ++i) Store(kForever);
  EXPECT_EQ(parts_.log.open_segments(), 1u);
}

TEST_F(LifetimeTest, WhenNothingIsForeverThatLiesWithTheRest) {
  for (int i = 0; i < 4 * 60; ++i) Store(2);
  const std::uint32_t rest = Store(2);
  EXPECT_EQ(parts_.log.open_segments(), 1u);
  EXPECT_EQ(Store(kForever), rest);
}

// Down to the last room of any segment that is open.
TEST_F(LifetimeTest, WithoutAFreeSegmentTheyLieTogether) {
  for (int i = 0; i < 60; ++i) {
    Store(kForever);
    Store(1);
  }
  std::uint32_t last = kNoSegment;
  int stored = 0;
  for (std::uint32_t at; (at = Store(1)) != kNoSegment; ++stored) last = at;
  EXPECT_EQ(Store(kForever), kNoSegment);
  EXPECT_NE(last, kNoSegment);
  EXPECT_GT(stored, 4 * 40);
}

TEST_F(SegmentLogTest, InASmallLogAllLifetimesLieTogether) {
  for (int i = 0; i < 80; ++i) {
    const Reservation r = parts_.log.Reserve(Stream::kHead, 8, 8, 1, Claim::kWrite, kNoSegment,
                                             static_cast<Lifetime>(i % kLifetimes));
    ASSERT_TRUE(r.valid());
    parts_.log.CloseReservation(r, 0);
  }
  EXPECT_EQ(parts_.log.open_segments(), 1u);
}

}  // namespace
}  // namespace podcache::store
