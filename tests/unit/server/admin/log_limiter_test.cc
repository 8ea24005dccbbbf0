#include "server/admin/log_limiter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace podcache::admin {
namespace {

using ::testing::ElementsAre;

TEST(LogLimiterTest, HoldsBackAboveItsRateAndSaysHowMany) {
  ManualClock clock;
  std::vector<std::string> lines;
  LogLimiter limiter(
      clock, [&](const std::string& line) { lines.push_back(line); }, 2);
  for (const char* line : {"a", "b", "c", "d", "e"}) limiter.Write(line);
  EXPECT_THAT(lines, ElementsAre("a", "b"));
  clock.Advance(std::chrono::seconds(59));
  limiter.Write("f");
  EXPECT_THAT(lines, ElementsAre("a", "b"));
  clock.Advance(std::chrono::seconds(1));
  limiter.Write("g");
  EXPECT_THAT(lines, ElementsAre("a", "b", "4 more lines like these were held back", "g"));
}

TEST(LogLimiterTest, AQuietMinuteSaysNothing) {
  ManualClock clock;
  std::vector<std::string> lines;
  LogLimiter limiter(
      clock, [&](const std::string& line) { lines.push_back(line); }, 2);
  limiter.Write("a");
  clock.Advance(std::chrono::hours(1));
  limiter.Write("b");
  EXPECT_THAT(lines, ElementsAre("a", "b"));
}

}  // namespace
}  // namespace podcache::admin
