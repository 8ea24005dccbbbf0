#include "operator/api/v1alpha1/duration.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace podcache::control {
namespace {

using std::chrono::milliseconds;

TEST(ParseDuration, AddsItsParts) {
  EXPECT_EQ(ParseDuration("5m"), milliseconds(300000));
  EXPECT_EQ(ParseDuration("1h30m"), milliseconds(5400000));
  EXPECT_EQ(ParseDuration("500ms"), milliseconds(500));
  EXPECT_EQ(ParseDuration("1.5s"), milliseconds(1500));
  EXPECT_EQ(ParseDuration("0.5m1ms"), milliseconds(30001));
  EXPECT_EQ(ParseDuration("0.0001s"), milliseconds(1));
  EXPECT_EQ(ParseDuration("24h"), milliseconds(86400000));
}

TEST(ParseDuration, RefusesTheRest) {
  for (const std::string text :
       {"", "0s", "0h0m", "5", "m", "5x", "5 m", "-5m", "+5m", "1.m", ".5m", "5m3", "25h", "24h1ms",
        "99999999999999h", "1d", "5us", "1m1m1m1m1m1m1m1m1m"}) {
    EXPECT_EQ(ParseDuration(text), std::nullopt) << text;
  }
}

TEST(FormatDuration, IsReadBackUnchanged) {
  EXPECT_EQ(FormatDuration(milliseconds(300000)), "5m");
  EXPECT_EQ(FormatDuration(milliseconds(5400000)), "1h30m");
  EXPECT_EQ(FormatDuration(milliseconds(1500)), "1s500ms");
  EXPECT_EQ(FormatDuration(milliseconds(0)), "0s");
  for (const int ms : {1, 999, 1000, 61001, 86400000}) {
    EXPECT_EQ(ParseDuration(FormatDuration(milliseconds(ms))), milliseconds(ms));
  }
}

}  // namespace
}  // namespace podcache::control
