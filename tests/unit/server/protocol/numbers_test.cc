// Numbers at their limits, beyond them, with signs and odd lengths; expected values as
// memcached 1.6.45 reads them.
#include "server/protocol/numbers.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

namespace podcache::protocol {
namespace {

template <class Number>
std::optional<Number> Read(bool (*parse)(std::string_view, Number&) noexcept,
                           std::string_view token) {
  Number number = 77;
  if (parse(token, number)) return number;
  EXPECT_EQ(number, 77) << "a failed parse must not write";
  return std::nullopt;
}

TEST(NumbersTest, Unsigned64) {
  const auto read = [](std::string_view token) {
    return Read<std::uint64_t>(&ParseUnsigned64, token);
  };
  EXPECT_EQ(read("0"), 0U);
  EXPECT_EQ(read("18446744073709551614"), 18446744073709551614U);
  EXPECT_EQ(read("18446744073709551615"), 18446744073709551615U);
  EXPECT_EQ(read("18446744073709551616"), std::nullopt);
  EXPECT_EQ(read("99999999999999999999"), std::nullopt);
  EXPECT_EQ(read(std::string(21, '0') + "5"), 5U);
  EXPECT_EQ(read(std::string(22, '0') + "5"), std::nullopt);
  for (const char* bad :
       {"", "-", "-1", "+1", "-0", "1x", "x", "0x1", "1.5", "1 ", " 1", "1\t", "1\r"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

TEST(NumbersTest, Unsigned32) {
  const auto read = [](std::string_view token) {
    return Read<std::uint32_t>(&ParseUnsigned32, token);
  };
  EXPECT_EQ(read("4294967294"), 4294967294U);
  EXPECT_EQ(read("4294967295"), 4294967295U);
  EXPECT_EQ(read("4294967296"), std::nullopt);
  EXPECT_EQ(read("00000000005"), 5U);
  EXPECT_EQ(read("000000000005"), std::nullopt);
  for (const char* bad : {"", "-1", "+1", "1x", "64m"}) EXPECT_EQ(read(bad), std::nullopt) << bad;
}

TEST(NumbersTest, Signed32) {
  const auto read = [](std::string_view token) {
    return Read<std::int32_t>(&ParseSigned32, token);
  };
  EXPECT_EQ(read("2147483646"), 2147483646);
  EXPECT_EQ(read("2147483647"), 2147483647);
  EXPECT_EQ(read("2147483648"), std::nullopt);
  EXPECT_EQ(read("-2147483647"), -2147483647);
  EXPECT_EQ(read("-2147483648"), std::numeric_limits<std::int32_t>::min());
  EXPECT_EQ(read("-2147483649"), std::nullopt);
  EXPECT_EQ(read("-0"), 0);
  EXPECT_EQ(read("00000000005"), 5);
  EXPECT_EQ(read("000000000005"), std::nullopt);
  EXPECT_EQ(read("-0000000005"), -5);
  EXPECT_EQ(read("-00000000005"), std::nullopt);
  for (const char* bad : {"", "-", "--1", "+5", "0.2", "1.5", "0x5", "1x"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

TEST(NumbersTest, ExptimeOfStorageCommands) {
  const auto read = [](std::string_view token) { return Read<std::int64_t>(&ParseExptime, token); };
  EXPECT_EQ(read("+5"), 5);
  EXPECT_EQ(read("-5"), -5);
  EXPECT_EQ(read("-0"), 0);
  EXPECT_EQ(read("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  EXPECT_EQ(read("9223372036854775808"), std::nullopt);
  EXPECT_EQ(read("-9223372036854775808"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(read("-9223372036854775809"), std::nullopt);
  EXPECT_EQ(read(std::string(25, '0') + "5"), 5);
  for (const char* bad : {"", "-", "+", "+-5", "-+5", "1.5", "1x", "noreply"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

TEST(NumbersTest, DecimalsAreFinite) {
  const auto read = [](std::string_view token) { return Read<double>(&ParseDecimal, token); };
  EXPECT_EQ(read("0.5"), 0.5);
  EXPECT_EQ(read("-1"), -1.0);
  EXPECT_EQ(read("1e2"), 100.0);
  EXPECT_EQ(read(".25"), 0.25);
  for (const char* bad :
       {"", "-", ".", "x", "0.5x", " 1", "1 ", "nan", "inf", "-inf", "1e999", "1,5", "noreply"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

TEST(NumbersTest, ClientFlagsAreTheLow32Bits) {
  const auto read = [](std::string_view token) {
    return Read<std::uint32_t>(&ParseClientFlags, token);
  };
  EXPECT_EQ(read("4294967295"), 4294967295U);
  EXPECT_EQ(read("4294967296"), 0U);
  EXPECT_EQ(read("4294967297"), 1U);
  EXPECT_EQ(read("18446744073709551615"), 4294967295U);
  EXPECT_EQ(read("18446744073709551616"), std::nullopt);
  EXPECT_EQ(read("+1"), 1U);
  EXPECT_EQ(read("01"), 1U);
  EXPECT_EQ(read("-0"), 0U);
  for (const char* bad : {"", "-", "+", "-1", "+-1", "--0", "1.5", "0x1", "1x"}) {
    EXPECT_EQ(read(bad), std::nullopt) << bad;
  }
}

TEST(NumbersTest, WhiteSpaceInLenientNumbers) {
  using namespace std::string_view_literals;
  const auto exptime = [](std::string_view token) {
    return Read<std::int64_t>(&ParseExptime, token);
  };
  const auto flags = [](std::string_view token) {
    return Read<std::uint32_t>(&ParseClientFlags, token);
  };
  for (const std::string_view one : {"\t1"sv, "\r\v\f\t1"sv, "1\t"sv, "1\t2"sv, "1\rx"sv,
                                     "\t+1\t"sv, "1\0"sv, "1\0x"sv, "\t01"sv}) {
    EXPECT_EQ(exptime(one), 1) << one;
    EXPECT_EQ(flags(one), 1U) << one;
  }
  for (const std::string_view zero : {"\t"sv, "\t\t"sv, "\tx"sv, "\t-"sv, "\t\0"sv}) {
    EXPECT_EQ(exptime(zero), 0) << zero;
    EXPECT_EQ(flags(zero), 0U) << zero;
  }
  for (const std::string_view bad : {"\0"sv, "\0001"sv, "x\t"sv, "-\t1"sv, "+\t"sv, "\t1x"sv,
                                     "1x\t"sv, "\t99999999999999999999"sv}) {
    EXPECT_EQ(exptime(bad), std::nullopt) << bad;
    EXPECT_EQ(flags(bad), std::nullopt) << bad;
  }
  EXPECT_EQ(exptime("\t-5"), -5);
  EXPECT_EQ(flags("\t-5"), std::nullopt);
}

}  // namespace
}  // namespace podcache::protocol
