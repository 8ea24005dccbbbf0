#include "operator/queue/rate_limiter.h"

#include <gtest/gtest.h>

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(RateLimiterTest, AKeyWaitsTwiceAsLongEachTimeUpToTheLimit) {
  RateLimiter limiter;
  nanoseconds now{0};
  milliseconds expected(5);
  for (int i = 0; i < 18; ++i) {  // 5 ms · 2^17 = 655.36 s
    EXPECT_EQ(limiter.When("a", now), expected) << i;
    now += seconds(2000);  // The bucket is full again.
    expected *= 2;
  }
  for (int i = 0; i < 100; ++i) {
    EXPECT_EQ(limiter.When("a", now), seconds(1000));
    now += seconds(2000);
  }
  EXPECT_EQ(limiter.Failures("a"), 118);
}

TEST(RateLimiterTest, KeysAreApartAndForgetStartsOver) {
  RateLimiter limiter;
  EXPECT_EQ(limiter.When("a", seconds(0)), milliseconds(5));
  EXPECT_EQ(limiter.When("a", seconds(0)), milliseconds(10));
  EXPECT_EQ(limiter.When("b", seconds(0)), milliseconds(5));
  limiter.Forget("a");
  EXPECT_EQ(limiter.Failures("a"), 0);
  EXPECT_EQ(limiter.When("a", seconds(0)), milliseconds(5));
  EXPECT_EQ(limiter.Failures("b"), 1);
}

TEST(RateLimiterTest, TheBucketHoldsAHundredAndFillsByTenASecond) {
  RateLimiter limiter;
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(limiter.When("k" + std::to_string(i), seconds(0)), milliseconds(5)) << i;
  }
  EXPECT_EQ(limiter.When("k100", seconds(0)), milliseconds(100));
  EXPECT_EQ(limiter.When("k101", seconds(0)), milliseconds(200));
  // One second later the debt of two is paid and eight are left.
  for (int i = 0; i < 8; ++i) {
    ASSERT_EQ(limiter.When("l" + std::to_string(i), seconds(1)), milliseconds(5)) << i;
  }
  EXPECT_EQ(limiter.When("l8", seconds(1)), milliseconds(100));
  // It never holds more than its size.
  for (int i = 0; i < 100; ++i) {
    ASSERT_EQ(limiter.When("m" + std::to_string(i), seconds(3600)), milliseconds(5)) << i;
  }
  EXPECT_EQ(limiter.When("m100", seconds(3600)), milliseconds(100));
}

}  // namespace
}  // namespace podcache::kube
