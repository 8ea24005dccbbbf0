#include "operator/ctl/top.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/ctl/render.h"

namespace podcache::control {
namespace {

using ::testing::HasSubstr;

TEST(TopTest, RatesAreDifferencesBySeconds) {
  TopSample before;
  before.gets = 100;
  before.hits = 60;
  before.misses = 40;
  before.sets = 10;
  TopSample now = before;
  now.gets += 50;
  now.hits += 45;
  now.misses += 5;
  now.sets += 20;
  now.evictions = 4;
  now.bytes_read = 1000;
  const TopRates rates = RatesBetween(before, now, 2);
  EXPECT_DOUBLE_EQ(rates.gets, 25);
  EXPECT_DOUBLE_EQ(rates.sets, 10);
  EXPECT_DOUBLE_EQ(rates.evictions, 2);
  EXPECT_DOUBLE_EQ(rates.read_bytes, 500);
  EXPECT_DOUBLE_EQ(rates.hit_ratio, 0.9);
}

TEST(TopTest, NothingAskedForHasNoRatioAndNoTimeNoRates) {
  const TopRates rates = RatesBetween({}, {}, 1);
  EXPECT_LT(rates.hit_ratio, 0);
  EXPECT_THAT(TopLine({}, rates), HasSubstr(" - "));
  TopSample now;
  now.gets = 5;
  EXPECT_DOUBLE_EQ(RatesBetween({}, now, 0).gets, 0);
}

TEST(TopTest, ARestartedServerCountsFromZero) {
  TopSample before;
  before.gets = 1000;
  TopSample now;
  now.gets = 30;
  EXPECT_DOUBLE_EQ(RatesBetween(before, now, 1).gets, 30);
}

TEST(TopTest, HeaderAndLinesHaveTheSameColumns) {
  TopSample now;
  now.items = 123456;
  now.limit_bytes = 256ULL << 20;
  EXPECT_EQ(TopHeader().size(), TopLine(now, {}).size());
  EXPECT_THAT(TopLine(now, {}), HasSubstr("256Mi"));
}

TEST(TopTest, JsonIsOneObjectALine) {
  TopSample now;
  now.items = 7;
  const std::string line = TopJson(now, RatesBetween({}, now, 1));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  const auto json = nlohmann::json::parse(line);
  EXPECT_EQ(json.at("items"), 7);
  EXPECT_TRUE(json.at("hit_ratio").is_null());
}

TEST(RenderTest, ShortFormsOfBytesAndTimes) {
  EXPECT_EQ(ShortBytes(0), "0");
  EXPECT_EQ(ShortBytes(1023), "1023");
  EXPECT_EQ(ShortBytes(1024), "1Ki");
  EXPECT_EQ(ShortBytes(1536), "1.5Ki");
  EXPECT_EQ(ShortBytes(268435456), "256Mi");
  EXPECT_EQ(ShortBytes(6ULL << 40), "6Ti");
  EXPECT_EQ(ShortDuration(59), "59s");
  EXPECT_EQ(ShortDuration(312), "5m 12s");
  EXPECT_EQ(ShortDuration(7260), "2h 1m");
  EXPECT_EQ(ShortDuration(3 * 86400 + 4 * 3600), "3d 4h");
}

}  // namespace
}  // namespace podcache::control
