#include "server/store/value_copy.h"

#include <gtest/gtest.h>

#include <string>

#include "server/memory/pages.h"

namespace podcache::store {
namespace {

constexpr std::size_t kMaxBytes = 100;

// Every place in a word and every length: exactly the value, not a byte more.
TEST(ValueCopyTest, CopiesExactlyTheValue) {
  alignas(8) char record[kMaxBytes + 16];
  for (std::size_t i = 0; i < sizeof record; ++i) record[i] = static_cast<char>(i + 1);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    for (std::size_t n = 0; n <= kMaxBytes; ++n) {
      for (std::size_t misaligned = 0; misaligned < 3; ++misaligned) {
        std::string to(n + 32, '#');
        CopyChangingValue(record + offset, n, to.data() + 16 + misaligned);
        std::string expected(n + 32, '#');
        expected.replace(16 + misaligned, n, record + offset, n);
        ASSERT_EQ(to, expected) << offset << " " << n;
      }
    }
  }
}

TEST(ValueCopyTest, StoresExactlyTheValue) {
  std::string value(kMaxBytes, '\0');
  for (std::size_t i = 0; i < value.size(); ++i) value[i] = static_cast<char>(i + 1);
  for (std::size_t offset = 0; offset < 8; ++offset) {
    for (std::size_t n = 0; n <= kMaxBytes; ++n) {
      alignas(8) char record[kMaxBytes + 16];
      std::memset(record, '#', sizeof record);
      StoreValueInPlace(record + offset, std::string_view(value).substr(0, n));
      std::string expected(sizeof record, '#');
      expected.replace(offset, n, value, 0, n);
      ASSERT_EQ(std::string(record, sizeof record), expected) << offset << " " << n;
    }
  }
}

// The copy takes whole words, but none without a byte of the value: what lies behind may not be
// readable.
TEST(ValueCopyTest, ReadsNothingBehindTheLastWord) {
  const std::size_t page = memory::PageBytes();
  char* const pages = memory::ReserveRange(2 * page, page);
  ASSERT_NE(pages, nullptr);
  ASSERT_TRUE(memory::CommitPages(pages, page));
  char to[kMaxBytes];
  for (std::size_t n = 0; n <= kMaxBytes; ++n) {
    for (std::size_t rest = 0; rest < 8; ++rest) CopyChangingValue(pages + page - n - rest, n, to);
    CopyChangingValue(pages, n, to);
  }
  memory::UnmapPages(pages, 2 * page);
}

TEST(ValueCopyTest, ComparesEveryByteOfAKey) {
  for (std::size_t n = 1; n <= 40; ++n) {
    const std::string key(n, 'k');
    EXPECT_TRUE(SameKeyBytes(key.data(), std::string(n, 'k').data(), n));
    for (std::size_t i = 0; i < n; ++i) {
      std::string other = key;
      other[i] = 'x';
      EXPECT_FALSE(SameKeyBytes(key.data(), other.data(), n)) << n << " " << i;
    }
  }
}

}  // namespace
}  // namespace podcache::store
