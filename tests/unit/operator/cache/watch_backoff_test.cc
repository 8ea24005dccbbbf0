#include "operator/cache/watch_backoff.h"

#include <gtest/gtest.h>

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;

TEST(WatchBackoffTest, DoublesFrom800MillisecondsTo30Seconds) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    ManualClock clock;
    std::mt19937_64 random(seed);
    WatchBackoff backoff(clock, random);
    // At least the doubled time, at most half as much again, never above 30 s.
    for (const int base_ms : {800, 1600, 3200, 6400, 12'800}) {
      const nanoseconds wait = backoff.Next();
      EXPECT_GE(wait, milliseconds(base_ms));
      EXPECT_LE(wait, milliseconds(base_ms * 3 / 2));
      clock.Advance(wait);
    }
    for (int i = 0; i < 10; ++i) {
      const nanoseconds wait = backoff.Next();
      EXPECT_GE(wait, milliseconds(20'000));
      EXPECT_LE(wait, milliseconds(30'000));
      clock.Advance(wait);
    }
  }
}

TEST(WatchBackoffTest, JitterDiffers) {
  ManualClock clock;
  std::mt19937_64 random(1);
  WatchBackoff first(clock, random);
  WatchBackoff second(clock, random);
  EXPECT_NE(first.Next(), second.Next());
}

TEST(WatchBackoffTest, TwoHealthyMinutesStartOver) {
  ManualClock clock;
  std::mt19937_64 random(1);
  WatchBackoff backoff(clock, random);
  for (int i = 0; i < 8; ++i) clock.Advance(backoff.Next());
  clock.Advance(std::chrono::minutes(2) - nanoseconds(1));
  nanoseconds wait = backoff.Next();
  EXPECT_GE(wait, milliseconds(20'000));
  clock.Advance(wait + std::chrono::minutes(2));
  wait = backoff.Next();
  EXPECT_GE(wait, milliseconds(800));
  EXPECT_LE(wait, milliseconds(1200));
}

}  // namespace
}  // namespace podcache::kube
