#include "server/store/shift_detector.h"

#include <gtest/gtest.h>

namespace podcache::store {
namespace {

constexpr std::uint32_t kSegments = 100;
constexpr std::uint32_t kItems = 400;

class ShiftDetectorTest : public ::testing::Test {
 protected:
  // Looks until it says so, at most that many; 0 if it does not.
  int LooksUntilShift(std::uint32_t used, int most) {
    for (int look = 1; look <= most; ++look) {
      if (detector.Add(kItems, used, kSegments)) return look;
    }
    return 0;
  }

  ShiftDetector detector;
};

TEST_F(ShiftDetectorTest, AUsualShareIsNoShiftHoweverLargeItIs) {
  for (const std::uint32_t used : {0U, 2U, 40U, 400U}) {
    detector = {};
    EXPECT_EQ(LooksUntilShift(used, 1000), 0) << used;
  }
}

// Ten times as much, after a log full of looks.
TEST_F(ShiftDetectorTest, ARiseIsSeenAtOnce) {
  ASSERT_EQ(LooksUntilShift(2, 200), 0);
  EXPECT_EQ(LooksUntilShift(20, 10), 3);
}

TEST_F(ShiftDetectorTest, TwiceAsMuchIsNoShift) {
  ASSERT_EQ(LooksUntilShift(4, 200), 0);
  EXPECT_EQ(LooksUntilShift(8, 1000), 0);
}

// In the mean of four looks 12 more than expected are wanted.
TEST_F(ShiftDetectorTest, AHandfulIsNotMany) {
  ASSERT_EQ(LooksUntilShift(0, 200), 0);
  EXPECT_EQ(LooksUntilShift(2, 1000), 0);
}

TEST_F(ShiftDetectorTest, NothingIsUsualBeforeALogFullOfLooks) {
  ASSERT_EQ(LooksUntilShift(0, 50), 0);
  EXPECT_EQ(LooksUntilShift(100, 40), 0);
}

// It falls before it rises again, so that each rise is one.
TEST_F(ShiftDetectorTest, WhoErredAsksMoreRarely) {
  ASSERT_EQ(LooksUntilShift(2, 150), 0);
  ASSERT_GT(LooksUntilShift(40, 10), 0);
  detector.Refute();
  ASSERT_EQ(LooksUntilShift(2, 150), 0);
  EXPECT_EQ(LooksUntilShift(40, 10), 0);
  ASSERT_EQ(LooksUntilShift(2, 400), 0);
  ASSERT_GT(LooksUntilShift(40, 10), 0);
  detector.Confirm();
  ASSERT_EQ(LooksUntilShift(2, 400), 0);
  EXPECT_GT(LooksUntilShift(40, 10), 0);
}

}  // namespace
}  // namespace podcache::store
