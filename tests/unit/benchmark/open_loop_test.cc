#include "tests/benchmark/load/open_loop.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>

namespace podcache::bench {
namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

TEST(ArrivalSchedule, HasItsRateAndExponentialGaps) {
  constexpr int kCount = 200'000;
  ArrivalSchedule schedule(1000, seconds(5), 1);
  EXPECT_EQ(schedule.due(), seconds(5));
  int longer_than_mean = 0;
  for (int i = 0; i < kCount; ++i) {
    const nanoseconds before = schedule.due();
    schedule.Advance();
    ASSERT_GE(schedule.due(), before);
    longer_than_mean += schedule.due() - before > milliseconds(1) ? 1 : 0;
  }
  const double elapsed = std::chrono::duration<double>(schedule.due() - seconds(5)).count();
  EXPECT_NEAR(elapsed, kCount / 1000.0, 1);
  EXPECT_NEAR(longer_than_mean / double{kCount}, 0.3679, 0.005);  // 1 / e
}

// A request is due every millisecond for ten seconds. The server answers at once, but stands still
// from second 4 to second 5. What was due then waits between 1000 and 1 ms: a tenth of all
// requests, evenly. A closed loop would have seen a single slow one.
TEST(LatencyLedger, AStallIsChargedForAllThatWasDue) {
  LatencyLedger ledger;
  Histogram histogram;
  const milliseconds stall_begin(4000);
  const milliseconds stall_end(5000);
  for (milliseconds due(0); due < seconds(10); ++due) {
    ledger.Sent(due, 1);
    const bool stands = due >= stall_begin && due < stall_end;
    if (!stands) ledger.Answered(ledger.outstanding(), due, nanoseconds(0), histogram);
    if (due + milliseconds(1) == stall_end)
      ledger.Answered(ledger.outstanding(), stall_end, nanoseconds(0), histogram);
  }
  EXPECT_EQ(histogram.count(), 10'000U);
  EXPECT_EQ(histogram.PercentileNs(90), 0U);
  // 90 % are not delayed, the rest evenly: the 95th percentile is half a stall.
  EXPECT_NEAR(static_cast<double>(histogram.PercentileNs(95)), 500e6, 500e6 / 128);
  EXPECT_NEAR(static_cast<double>(histogram.PercentileNs(99)), 900e6, 900e6 / 128);
  EXPECT_EQ(histogram.max_ns(), 1'000'000'000U);
  EXPECT_NEAR(histogram.MeanNs(), 1000 * 500.5e6 / 10'000, 1);
}

TEST(LatencyLedger, RepliesOfOneBatchMayComeApart) {
  LatencyLedger ledger;
  Histogram histogram;
  ledger.Sent(nanoseconds(0), 3);
  ledger.Sent(nanoseconds(10), 2);
  ledger.Answered(2, nanoseconds(50), nanoseconds(0), histogram);
  EXPECT_EQ(ledger.outstanding(), 3U);
  ledger.Answered(3, nanoseconds(100), nanoseconds(0), histogram);
  EXPECT_EQ(ledger.outstanding(), 0U);
  EXPECT_EQ(histogram.count(), 5U);
  EXPECT_DOUBLE_EQ(histogram.MeanNs(), (50 + 50 + 100 + 90 + 90) / 5.0);
}

TEST(LatencyLedger, WarmUpIsNotRecorded) {
  LatencyLedger ledger;
  Histogram histogram;
  ledger.Sent(nanoseconds(5), 1);
  ledger.Sent(nanoseconds(15), 1);
  ledger.Answered(2, nanoseconds(30), nanoseconds(10), histogram);
  EXPECT_EQ(histogram.count(), 1U);
  EXPECT_EQ(histogram.max_ns(), 15U);
}

}  // namespace
}  // namespace podcache::bench
