#include "tests/benchmark/load/items.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace podcache::bench {
namespace {

std::string KeyOf(const Items& items, std::uint64_t item) {
  std::string key = items.FirstKey();
  items.WriteDigits(key.data() + key.size() - Items::kDigits, item);
  return key;
}

std::string ValueOf(const Items& items, std::size_t bytes, std::uint64_t item,
                    std::uint32_t variant) {
  std::string value(bytes, '\0');
  items.WriteValue(value.data(), bytes, item, variant);
  return value;
}

TEST(Items, KeysHaveTheirLengthAndTellTheirItem) {
  for (const std::size_t bytes : {11U, 16U, 20U, 250U}) {
    const Items items(bytes, 10);
    for (const std::uint64_t item : {0ULL, 7ULL, 1234567890ULL, 9999999999ULL}) {
      const std::string key = KeyOf(items, item);
      EXPECT_EQ(key.size(), bytes);
      EXPECT_EQ(items.ItemOf(key), item);
    }
  }
  EXPECT_EQ(KeyOf(Items(16, 0), 1234567890), "bench-1234567890");
}

TEST(Items, OtherKeysAreNobodys) {
  const Items items(16, 10);
  for (const char* const key : {"", "bench-123", "other-1234567890", "bench-12345678x0"})
    EXPECT_EQ(items.ItemOf(key), std::nullopt) << key;
}

TEST(Items, EveryVariantIsAValueOfItsItemOnly) {
  const Items items(16, 1000);
  for (const std::size_t bytes : {10U, 128U, 1000U}) {
    for (std::uint32_t variant = 0; variant < Items::kVariants; ++variant) {
      const std::string value = ValueOf(items, bytes, 42, variant);
      EXPECT_TRUE(items.IsValueOf(value, 42));
      EXPECT_FALSE(items.IsValueOf(value, 43));
    }
  }
}

TEST(Items, AMixtureOfTwoValuesIsNone) {
  const Items items(16, 128);
  const std::string one = ValueOf(items, 128, 5, 1);
  const std::string other = ValueOf(items, 128, 5, 2);
  for (std::size_t cut = 8; cut < 128; cut += 8)
    EXPECT_FALSE(items.IsValueOf(one.substr(0, cut) + other.substr(cut), 5)) << cut;
}

TEST(Items, ForeignBytesAreNoValue) {
  const Items items(16, 128);
  EXPECT_FALSE(items.IsValueOf("zzz", 5));
  EXPECT_FALSE(items.IsValueOf(std::string(200, 'a'), 5));
  EXPECT_TRUE(items.IsValueOf("", 5));
}

}  // namespace
}  // namespace podcache::bench
