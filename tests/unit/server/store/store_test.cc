#include "server/store/store.h"

#include <gmock/gmock.h>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

using ::testing::Optional;
using ::testing::StrEq;

TEST_F(StoreTest, SetAndGet) {
  EXPECT_EQ(client().Get("k"), std::nullopt);
  EXPECT_EQ(client().Set("k", "value", 7), StoreStatus::kStored);
  StringSink sink;
  ASSERT_TRUE(client().Read("k", {}, sink));
  EXPECT_EQ(sink[0].value, "value");
  EXPECT_EQ(sink[0].meta.client_flags, 7u);
  EXPECT_EQ(sink[0].meta.exptime, 0);
  EXPECT_EQ(client().Set("k", ""), StoreStatus::kStored);
  EXPECT_THAT(client().Get("k"), Optional(StrEq("")));
}

TEST_F(StoreTest, EverySizeComesBack) {
  for (std::size_t size = 0; size < 400'000; size = size * 5 / 4 + 1) {
    const std::string value(size, static_cast<char>('a' + size % 26));
    ASSERT_EQ(client().Set("k" + std::to_string(size), value), StoreStatus::kStored) << size;
    ASSERT_THAT(client().Get("k" + std::to_string(size)), Optional(StrEq(value))) << size;
  }
}

TEST_F(StoreTest, AddReplace) {
  EXPECT_EQ(client().Write("k", "a", {WriteMode::kReplace}).status, StoreStatus::kNotStored);
  EXPECT_EQ(client().Write("k", "b", {WriteMode::kAdd}).status, StoreStatus::kStored);
  EXPECT_EQ(client().Write("k", "c", {WriteMode::kAdd}).status, StoreStatus::kNotStored);
  EXPECT_EQ(client().Write("k", "d", {WriteMode::kReplace}).status, StoreStatus::kStored);
  EXPECT_THAT(client().Get("k"), Optional(StrEq("d")));
}

TEST_F(StoreTest, DeleteOnce) {
  client().Set("k", "v");
  EXPECT_EQ(client().Delete("k"), StoreStatus::kOk);
  EXPECT_EQ(client().Delete("k"), StoreStatus::kNotFound);
  EXPECT_EQ(client().Get("k"), std::nullopt);
}

TEST_F(StoreTest, ArithmeticOfTheProtocol) {
  EXPECT_EQ(client().Arithmetic("n", true, 1).status, StoreStatus::kNotFound);
  client().Set("n", "18446744073709551615", 3);
  EXPECT_EQ(client().Arithmetic("n", true, 2).value, 1u);
  EXPECT_EQ(client().Arithmetic("n", false, 5).value, 0u);
  EXPECT_THAT(client().Get("n"), Optional(StrEq("0")));
  client().Set("n", "114514");
  EXPECT_EQ(client().Arithmetic("n", false, 100000).value, 14514u);
  EXPECT_THAT(client().Get("n"), Optional(StrEq("14514")));
  for (const char* bad : {"", "a", "-1", " 1", "1 ", "1.0", "18446744073709551616", "+1", "0x1"}) {
    client().Set("n", bad);
    EXPECT_EQ(client().Arithmetic("n", true, 1).status, StoreStatus::kNotNumeric) << bad;
    EXPECT_THAT(client().Get("n"), Optional(StrEq(bad)));
  }
}

TEST_F(StoreTest, AppendAndPrependKeepFlagsAndExptime) {
  EXPECT_EQ(client().Write("k", "x", {WriteMode::kAppend}).status, StoreStatus::kNotStored);
  client().Set("k", "m", 9, now() + 100);
  EXPECT_EQ(client().Write("k", "z", {WriteMode::kAppend}, 1, 5).status, StoreStatus::kStored);
  EXPECT_EQ(client().Write("k", "a", {WriteMode::kPrepend}, 1, 5).status, StoreStatus::kStored);
  StringSink sink;
  ASSERT_TRUE(client().Read("k", {}, sink));
  EXPECT_EQ(sink[0].value, "amz");
  EXPECT_EQ(sink[0].meta.client_flags, 9u);
  EXPECT_EQ(sink[0].meta.exptime, now() + 100);
}

TEST_F(StoreTest, ExpiryIsExactToTheSecond) {
  client().Set("k", "v", 0, now() + 10);
  clock_.Advance(std::chrono::milliseconds(9999));
  EXPECT_TRUE(client().Get("k"));
  clock_.Advance(std::chrono::milliseconds(1));
  EXPECT_FALSE(client().Get("k"));
  EXPECT_EQ(client().counters().Read(metrics::Counter::kGetExpired), 1u);
  EXPECT_EQ(client().Set("past", "v", 0, kExpiredImmediately), StoreStatus::kStored);
  EXPECT_FALSE(client().Get("past"));
}

TEST_F(StoreTest, FlushNow) {
  client().Set("old", "v");
  store().FlushAll(0);
  client().Set("new", "v");
  EXPECT_FALSE(client().Get("old"));
  EXPECT_TRUE(client().Get("new"));
  EXPECT_EQ(client().counters().Read(metrics::Counter::kGetFlushed), 1u);
}

TEST_F(StoreTest, TooLarge) {
  EXPECT_EQ(client().Set("k", std::string((1 << 20) + 1024, 'x')), StoreStatus::kTooLarge);
  EXPECT_EQ(client().Set("k", std::string((1 << 20) - 1024, 'x')), StoreStatus::kStored);
}

}  // namespace
}  // namespace podcache::store
