#include "server/memory/segment_pool.h"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "server/memory/pages.h"
#include "server/memory/poison.h"

namespace podcache::memory {
namespace {

constexpr std::size_t kSegmentBytes = 64 * 1024;

class SegmentPoolTest : public ::testing::Test {
 protected:
  AllocationGate gate_;
  MemoryBudget budget_{4 * kSegmentBytes};
  SegmentPool pool_{kSegmentBytes, 4 * kSegmentBytes, 16 * kSegmentBytes, budget_, gate_};
};

TEST_F(SegmentPoolTest, TakesAsManyAsTheBudgetAllows) {
  std::set<std::uint32_t> taken;
  for (int i = 0; i < 4; ++i) taken.insert(pool_.Take(0));
  EXPECT_EQ(taken.size(), 4u);
  EXPECT_EQ(taken.count(kNoSegment), 0u);
  EXPECT_EQ(pool_.Take(0), kNoSegment);
  EXPECT_EQ(budget_.segment_bytes(), 4 * kSegmentBytes);
  EXPECT_EQ(pool_.Available(), 0);
}

TEST_F(SegmentPoolTest, KeepsSomeForWhoMayGoFurther) {
  EXPECT_NE(pool_.Take(3), kNoSegment);
  EXPECT_EQ(pool_.Take(3), kNoSegment);
  EXPECT_NE(pool_.Take(2), kNoSegment);
}

TEST_F(SegmentPoolTest, ChargesOfOthersLeaveLess) {
  budget_.AddExternal(2 * kSegmentBytes + 1);
  EXPECT_NE(pool_.Take(0), kNoSegment);
  EXPECT_EQ(pool_.Take(0), kNoSegment);
  budget_.AddExternal(-static_cast<std::int64_t>(2 * kSegmentBytes + 1));
  EXPECT_NE(pool_.Take(0), kNoSegment);
}

TEST_F(SegmentPoolTest, FreeSegmentsAreReusedBeforeNewOnesAreCommitted) {
  const std::uint32_t id = pool_.Take(0);
  pool_.Give(id);
  EXPECT_EQ(pool_.free_segments(), 1u);
  EXPECT_EQ(pool_.Take(0), id);
  EXPECT_EQ(budget_.segment_bytes(), kSegmentBytes);
}

TEST_F(SegmentPoolTest, DecommittedPagesReadAsZeroAfterwards) {
  const std::uint32_t id = pool_.Take(0);
  Unpoison(pool_.Address(id), kSegmentBytes);
  pool_.Address(id)[100] = 'x';
  pool_.Give(id);
  EXPECT_TRUE(pool_.DecommitOne());
  EXPECT_FALSE(pool_.DecommitOne());
  EXPECT_EQ(budget_.segment_bytes(), 0u);
  EXPECT_EQ(pool_.Take(0), id);
  Unpoison(pool_.Address(id), kSegmentBytes);
  EXPECT_EQ(pool_.Address(id)[100], '\0');
}

TEST_F(SegmentPoolTest, OverTheBudgetOnlyCommittedOnesCanBeHad) {
  const std::uint32_t id = pool_.Take(0);
  pool_.Give(id);
  budget_.SetTarget(0);
  EXPECT_LT(pool_.Available(), 1);
  EXPECT_EQ(pool_.Take(0), kNoSegment);
  EXPECT_EQ(pool_.TakeCommitted(1), kNoSegment);
  EXPECT_EQ(pool_.TakeCommitted(0), id);
}

TEST_F(SegmentPoolTest, AFailedCommitIsNoSegment) {
  gate_.FailAfter(0);
  EXPECT_EQ(pool_.Take(0), kNoSegment);
  EXPECT_NE(pool_.Take(0), kNoSegment);
}

TEST_F(SegmentPoolTest, FreeMemoryIsPoisoned) {
#ifndef PODCACHE_ADDRESS_SANITIZER
  GTEST_SKIP() << "needs the address sanitizer";
#endif
  const std::uint32_t id = pool_.Take(0);
  EXPECT_TRUE(IsPoisoned(pool_.Address(id)));
  Unpoison(pool_.Address(id), kSegmentBytes);
  pool_.Give(id);
  EXPECT_TRUE(IsPoisoned(pool_.Address(id) + kSegmentBytes - 1));
}

TEST_F(SegmentPoolTest, TheRangeIsAsLargeAsAskedFor) {
  EXPECT_EQ(pool_.max_bytes(), 16 * kSegmentBytes);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(pool_.base()) % (2 << 20), 0u);
}

}  // namespace
}  // namespace podcache::memory
