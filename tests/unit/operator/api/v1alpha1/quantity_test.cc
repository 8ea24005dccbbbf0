#include "operator/api/v1alpha1/quantity.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>

namespace podcache::control {
namespace {

constexpr std::uint64_t kKi = 1024;
constexpr std::uint64_t kMi = kKi * 1024;
constexpr std::uint64_t kGi = kMi * 1024;
constexpr std::uint64_t kTi = kGi * 1024;

TEST(ParseBytes, IsExact) {
  EXPECT_EQ(ParseBytes("1.5Gi"), 3 * kGi / 2);
  EXPECT_EQ(ParseBytes("1073741824"), 1073741824U);
  EXPECT_EQ(ParseBytes("1500M"), 1500000000U);
  EXPECT_EQ(ParseBytes("256Mi"), 256 * kMi);
  EXPECT_EQ(ParseBytes("1k"), 1000U);
  EXPECT_EQ(ParseBytes("2T"), 2000000000000U);
  EXPECT_EQ(ParseBytes("64Ti"), 64 * kTi);
  EXPECT_EQ(ParseBytes("007"), 7U);
}

TEST(ParseBytes, RoundsFractionsOfAByteUp) {
  EXPECT_EQ(ParseBytes("0.1"), 1U);
  EXPECT_EQ(ParseBytes("1.0000000001"), 2U);
  EXPECT_EQ(ParseBytes("1.000"), 1U);
  EXPECT_EQ(ParseBytes("0.3Ki"), 308U);        // 307.2
  EXPECT_EQ(ParseBytes("0.1Gi"), 107374183U);  // 107374182.4
}

TEST(ParseBytes, RefusesWhatTheSchemaRefuses) {
  for (const std::string text : {"",
                                 "0",
                                 "0Mi",
                                 "0.0",
                                 "-1Gi",
                                 "+1Gi",
                                 "1GB",
                                 "1e3Ei",
                                 "1e3",
                                 "1Pi",
                                 "1Ei",
                                 "1m",
                                 "1 Gi",
                                 " 1Gi",
                                 "1Gi ",
                                 "Gi",
                                 ".5Gi",
                                 "1.Gi",
                                 "1..5Gi",
                                 "1.5.5Gi",
                                 "1,5Gi",
                                 "1gi",
                                 "1K",
                                 "64.1Ti",
                                 "65Ti",
                                 "999999999999999999999999",
                                 "1000000000000000000000000000Ti",
                                 "0x10",
                                 "٣Gi"}) {
    EXPECT_EQ(ParseBytes(text), std::nullopt) << text;
  }
}

TEST(ParseMilli, IsExact) {
  EXPECT_EQ(ParseMilli("2"), 2000U);
  EXPECT_EQ(ParseMilli("0.5"), 500U);
  EXPECT_EQ(ParseMilli("250m"), 250U);
  EXPECT_EQ(ParseMilli("0.0001"), 1U);
  EXPECT_EQ(ParseMilli("1024"), 1024000U);
  for (const std::string text : {"0", "0m", "-1", "1k", "1u", "1025", "", "m", "1e3"}) {
    EXPECT_EQ(ParseMilli(text), std::nullopt) << text;
  }
}

TEST(ParseAny, TakesEveryFormOfKubernetes) {
  EXPECT_EQ(ParseAnyBytes("0"), 0U);
  EXPECT_EQ(ParseAnyBytes("128974848"), 128974848U);
  EXPECT_EQ(ParseAnyBytes("129e6"), 129000000U);
  EXPECT_EQ(ParseAnyBytes("129E6"), 129000000U);
  EXPECT_EQ(ParseAnyBytes("1e+3"), 1000U);
  EXPECT_EQ(ParseAnyBytes("1500e-3"), 2U);
  EXPECT_EQ(ParseAnyBytes("128974848000m"), 128974848U);
  EXPECT_EQ(ParseAnyBytes("1m"), 1U);
  EXPECT_EQ(ParseAnyBytes("1n"), 1U);
  EXPECT_EQ(ParseAnyBytes("1E"), 1000000000000000000U);
  EXPECT_EQ(ParseAnyBytes("15Ei"), 15ULL << 60);
  EXPECT_EQ(ParseAnyBytes("+5Ki"), 5 * kKi);
  EXPECT_EQ(ParseAnyBytes(".5Ki"), 512U);
  EXPECT_EQ(ParseAnyBytes("5.Ki"), 5 * kKi);
  EXPECT_EQ(ParseAnyMilli("1"), 1000U);
  EXPECT_EQ(ParseAnyMilli("100m"), 100U);
  EXPECT_EQ(ParseAnyMilli("1500u"), 2U);
  EXPECT_EQ(ParseAnyMilli("2k"), 2000000U);
}

TEST(ParseAny, RefusesTheRest) {
  for (const std::string text : {"", "-1", "16Ei", "1e30", "1e99999999999", "e5", "1e", "1ee5",
                                 "Mi", "1MiB", "abc", "1e5Ki", "1234567890123456789012345"}) {
    EXPECT_EQ(ParseAnyBytes(text), std::nullopt) << text;
  }
}

TEST(FormatBytes, UsesTheLargestExactSuffix) {
  EXPECT_EQ(FormatBytes(0), "0");
  EXPECT_EQ(FormatBytes(1), "1");
  EXPECT_EQ(FormatBytes(1500000000), "1500000000");
  EXPECT_EQ(FormatBytes(3 * kGi / 2), "1536Mi");
  EXPECT_EQ(FormatBytes(4 * kGi), "4Gi");
  EXPECT_EQ(FormatBytes(15ULL << 60), "15Ei");
  EXPECT_EQ(FormatBytes(std::numeric_limits<std::uint64_t>::max()), "18446744073709551615");
}

TEST(FormatBytes, IsReadBackUnchanged) {
  for (const std::uint64_t bytes :
       {std::uint64_t{1}, kKi, kMi + 1, 96 * kMi, 4608 * kMi, 64 * kTi, 12345 * kKi}) {
    EXPECT_EQ(ParseBytes(FormatBytes(bytes)), bytes);
  }
}

TEST(FormatMilli, WritesWholeCpusPlain) {
  EXPECT_EQ(FormatMilli(0), "0");
  EXPECT_EQ(FormatMilli(50), "50m");
  EXPECT_EQ(FormatMilli(1000), "1");
  EXPECT_EQ(FormatMilli(1500), "1500m");
}

}  // namespace
}  // namespace podcache::control
