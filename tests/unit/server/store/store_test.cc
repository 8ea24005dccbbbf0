#include "server/store/store.h"

#include <gmock/gmock.h>

#include "server/memory/pages.h"
#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
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

TEST_F(StoreTest, ArithmeticCreatesWhatIsMissing) {
  ArithmeticOptions options;
  options.create = true;
  options.delta = 7;
  options.initial = 18446744073709551615u;
  options.exptime = now() + 10;
  options.want_cas = true;
  ArithmeticResult result = client().Arithmetic("n", options);
  EXPECT_EQ(result.status, StoreStatus::kOk);
  EXPECT_TRUE(result.created);
  EXPECT_EQ(result.value, 18446744073709551615u);
  EXPECT_EQ(result.cas, client().Cas("n"));
  EXPECT_THAT(client().Get("n"), Optional(StrEq("18446744073709551615")));
  const std::uint64_t first_cas = result.cas;
  result = client().Arithmetic("n", options);
  EXPECT_EQ(result.status, StoreStatus::kOk);
  EXPECT_FALSE(result.created);
  EXPECT_EQ(result.value, 6u);
  EXPECT_EQ(result.cas, client().Cas("n"));
  EXPECT_NE(result.cas, first_cas);
  EXPECT_THAT(client().Get("n"), Optional(StrEq("6")));
  clock_.Advance(std::chrono::seconds(10));
  EXPECT_FALSE(client().Get("n"));
  options.initial = 0;
  EXPECT_TRUE(client().Arithmetic("n", options).created);
  client().Set("n", "x");
  EXPECT_EQ(client().Arithmetic("n", options).status, StoreStatus::kNotNumeric);
}

TEST_F(StoreTest, EveryChangeCanCompareTheCasId) {
  ArithmeticOptions options;
  options.compare_cas = 1;
  EXPECT_EQ(client().Arithmetic("n", options).status, StoreStatus::kNotFound);
  EXPECT_EQ(client().Delete("n", 1), StoreStatus::kNotFound);
  EXPECT_EQ(client().Write("n", "0", {WriteMode::kAppend, 1}).status, StoreStatus::kNotStored);
  for (const std::size_t bytes : {std::size_t{1}, kMaxCopiedValueBytes, std::size_t{100'000}}) {
    const std::string value(bytes, '1');
    client().Set("n", value);
    const std::uint64_t cas = client().Cas("n");
    options.compare_cas = cas + 1;
    EXPECT_EQ(client().Arithmetic("n", options).status, StoreStatus::kExists);
    EXPECT_EQ(client().Delete("n", cas + 1), StoreStatus::kExists);
    EXPECT_EQ(client().Write("n", "0", {WriteMode::kAppend, cas + 1}).status, StoreStatus::kExists);
    EXPECT_EQ(client().Write("n", "0", {WriteMode::kPrepend, cas + 1}).status,
              StoreStatus::kExists);
    EXPECT_THAT(client().Get("n"), Optional(StrEq(value)));
    const WriteResult appended = client().Write("n", "0", {WriteMode::kAppend, cas, true});
    EXPECT_EQ(appended.status, StoreStatus::kStored);
    EXPECT_THAT(client().Get("n"), Optional(StrEq(value + "0")));
    EXPECT_EQ(client().Delete("n", cas), StoreStatus::kExists);
    EXPECT_EQ(client().Delete("n", appended.cas), StoreStatus::kOk);
  }
  client().Set("n", "1");
  options.compare_cas = client().Cas("n");
  EXPECT_EQ(client().Arithmetic("n", options).value, 2u);
  EXPECT_EQ(client().Arithmetic("n", options).status, StoreStatus::kExists);
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

TEST_F(StoreTest, BatchAnswersInOrder) {
  std::vector<std::string> names;
  std::vector<Key> keys;
  for (std::size_t i = 0; i < StoreSession::kMaxBatch; ++i)
    names.push_back("k" + std::to_string(i));
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (i % 3 != 0) client().Set(names[i], "value" + std::to_string(i));
    keys.push_back(client().session().MakeKey(names[i]));
  }
  StringSink sink(keys.size());
  std::vector<StoreStatus> statuses(keys.size());
  client().session().Get(keys, {}, sink, statuses);
  for (std::size_t i = 0; i < names.size(); ++i) {
    EXPECT_EQ(statuses[i], i % 3 != 0 ? StoreStatus::kOk : StoreStatus::kNotFound);
    EXPECT_EQ(sink[i].value, i % 3 != 0 ? "value" + std::to_string(i) : "");
  }
}

TEST_F(StoreTest, WholeItemsAreStoredInOrder) {
  ASSERT_EQ(client().Set("gone", "old"), StoreStatus::kStored);
  const std::string large(100'000, 'l');
  const std::string too_large(store_options_.max_item_size_bytes, 't');
  const std::vector<StoreStatus> statuses = client().SetAll({{{"a"}, "1"},
                                                             {{"b"}, ""},
                                                             {{"gone"}, too_large},
                                                             {{"large"}, large, 7},
                                                             {{"a"}, "a longer one", 8, now() + 5},
                                                             {{"expired"}, "x", 0, now()},
                                                             {{"a"}, "a longer 1", 9, now() + 9}});
  EXPECT_THAT(statuses,
              ElementsAre(StoreStatus::kStored, StoreStatus::kStored, StoreStatus::kTooLarge,
                          StoreStatus::kStored, StoreStatus::kStored, StoreStatus::kStored,
                          StoreStatus::kStored));
  EXPECT_THAT(client().Get("b"), Optional(StrEq("")));
  EXPECT_EQ(client().Get("gone"), std::nullopt);
  EXPECT_EQ(client().Get("expired"), std::nullopt);
  EXPECT_THAT(client().Get("large"), Optional(StrEq(large)));
  StringSink sink;
  ASSERT_TRUE(client().Read("a", {}, sink));
  EXPECT_EQ(sink[0].value, "a longer 1");
  EXPECT_EQ(sink[0].meta.client_flags, 9u);
  EXPECT_EQ(sink[0].meta.exptime, now() + 9);
}

// Those whose CAS id a client knows do not keep it, and no id is given twice.
TEST_F(StoreTest, AWholeItemGetsAHigherCasIdThanTheOneItReplaces) {
  ASSERT_EQ(client().Set("a", "1"), StoreStatus::kStored);
  std::uint64_t last = client().Cas("a");
  for (int i = 0; i < 100; ++i) {
    ASSERT_THAT(client().SetAll({{{"a"}, "2"}, {{"b"}, "3"}}), Each(StoreStatus::kStored));
    const std::uint64_t cas = client().Cas("a");
    ASSERT_GT(cas, last);
    last = cas;
  }
}

TEST_F(StoreTest, LongestKey) {
  const std::string key(kMaxKeyBytes, 'k');
  EXPECT_EQ(client().Set(key, "v"), StoreStatus::kStored);
  EXPECT_THAT(client().Get(key), Optional(StrEq("v")));
}

TEST_F(StoreTest, TouchAndGetAndTouch) {
  EXPECT_EQ(client().Touch("k", now() + 5), StoreStatus::kNotFound);
  client().Set("k", "v", 3);
  EXPECT_EQ(client().Touch("k", now() + 5), StoreStatus::kOk);
  clock_.Advance(std::chrono::seconds(4));
  StringSink sink;
  ReadOptions options;
  options.set_exptime = true;
  options.exptime = now() + 5;
  ASSERT_TRUE(client().Read("k", options, sink));
  EXPECT_EQ(sink[0].meta.exptime, now() + 5);
  EXPECT_EQ(sink[0].meta.client_flags, 3u);
  clock_.Advance(std::chrono::seconds(4));
  EXPECT_TRUE(client().Get("k"));
  EXPECT_EQ(client().Touch("k", kNeverExpires), StoreStatus::kOk);
  clock_.Advance(std::chrono::hours(100'000));
  EXPECT_TRUE(client().Get("k"));
  EXPECT_EQ(client().Touch("k", kExpiredImmediately), StoreStatus::kOk);
  EXPECT_FALSE(client().Get("k"));
}

TEST_F(StoreTest, TouchKeepsTheCasId) {
  client().Set("k", "v");
  const std::uint64_t cas = client().Cas("k");
  EXPECT_EQ(client().Touch("k", now() + 5), StoreStatus::kOk);
  EXPECT_EQ(client().Cas("k"), cas);
  EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, cas, false}).status, StoreStatus::kStored);
}

TEST_F(StoreTest, ATouchCanTellOfTheItem) {
  ItemMeta meta;
  EXPECT_EQ(client().Touch("k", now() + 5, &meta), StoreStatus::kNotFound);
  for (const std::size_t bytes : {std::size_t{3}, std::size_t{100'000}}) {
    client().Set("k", std::string(bytes, 'v'), 77);
    EXPECT_EQ(client().Touch("k", now() + 5, &meta), StoreStatus::kOk);
    EXPECT_EQ(meta.client_flags, 77u);
    EXPECT_EQ(meta.value_bytes, bytes);
    EXPECT_EQ(meta.exptime, now() + 5);
    EXPECT_EQ(meta.cas, client().Cas("k"));
    EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, meta.cas}).status, StoreStatus::kStored);
  }
}

TEST_F(StoreTest, EveryWriteGivesAnotherCasId) {
  std::vector<std::uint64_t> seen;
  const auto fresh = [&] {
    const std::uint64_t cas = client().Cas("k");
    EXPECT_THAT(seen, ::testing::Not(::testing::Contains(cas)));
    seen.push_back(cas);
  };
  client().Set("k", "1");
  fresh();
  client().Set("k", "1");
  fresh();
  client().Arithmetic("k", true, 1);
  fresh();
  client().Write("k", "0", {WriteMode::kAppend});
  fresh();
  client().Delete("k");
  client().Set("k", "1");
  fresh();
  const WriteResult written = client().Write("k", "2", {WriteMode::kSet, 0, true});
  EXPECT_EQ(written.cas, client().Cas("k"));
}

TEST_F(StoreTest, CompareAndSwap) {
  EXPECT_EQ(client().Write("k", "v", {WriteMode::kCas, 1, false}).status, StoreStatus::kNotFound);
  client().Set("k", "v");
  const std::uint64_t cas = client().Cas("k");
  EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, 0, false}).status, StoreStatus::kExists);
  EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, cas + 1, false}).status,
            StoreStatus::kExists);
  EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, cas, false}).status, StoreStatus::kStored);
  EXPECT_EQ(client().Write("k", "x", {WriteMode::kCas, cas, false}).status, StoreStatus::kExists);
  EXPECT_THAT(client().Get("k"), Optional(StrEq("w")));
}

TEST_F(StoreTest, WithoutCasNoIdIsGiven) {
  StoreOptions options = SmallOptions();
  options.cas = false;
  Open(options);
  client().Set("k", "v");
  EXPECT_EQ(client().Cas("k"), 0u);
  EXPECT_EQ(client().Write("k", "w", {WriteMode::kCas, 0, true}).status, StoreStatus::kExists);
}

TEST_F(StoreTest, SameSizeOverwritesLeaveNothingBehind) {
  client().Set("k", std::string(100, 'a'));
  const StoreStats before = store().stats();
  for (int i = 0; i < 1000; ++i)
    client().Set("k", std::string(100, static_cast<char>('a' + i % 26)));
  EXPECT_EQ(store().stats().dead_bytes, before.dead_bytes);
  EXPECT_EQ(store().stats().item_bytes, before.item_bytes);
  EXPECT_EQ(store().stats().total_items, before.total_items + 1000);
}

TEST_F(StoreTest, ADelayedFlushTakesWhatWasWrittenBefore) {
  client().Set("old", "v");
  store().FlushAll(now() + 2);
  client().Set("later", "v");
  clock_.Advance(std::chrono::milliseconds(1999));
  EXPECT_TRUE(client().Get("old"));
  client().Set("just before", "v");
  clock_.Advance(std::chrono::milliseconds(1));
  client().Set("after", "v");
  EXPECT_FALSE(client().Get("old"));
  EXPECT_FALSE(client().Get("later"));
  EXPECT_FALSE(client().Get("just before"));
  EXPECT_TRUE(client().Get("after"));
}

TEST_F(StoreTest, FlushIsExactWithinASecondAndStaysSoAfterTheSweep) {
  for (int i = 0; i < 100; ++i) {
    client().Set("a" + std::to_string(i), "v");
    store().FlushAll(0);
    client().Set("b" + std::to_string(i), "v");
    EXPECT_FALSE(client().Get("a" + std::to_string(i)));
    EXPECT_TRUE(client().Get("b" + std::to_string(i)));
  }
  client().session().EndTurn();
  Maintain();
  EXPECT_EQ(store().stats().items, 1u);
  EXPECT_EQ(client().Write("b99", "w", {WriteMode::kReplace}).status, StoreStatus::kStored);
}

TEST_F(StoreTest, AFlushedItemIsMissingForEveryOperation) {
  const auto flushed = [&] {
    client().Set("k", "1");
    store().FlushAll(0);
  };
  flushed();
  EXPECT_EQ(client().Write("k", "2", {WriteMode::kReplace}).status, StoreStatus::kNotStored);
  flushed();
  EXPECT_EQ(client().Write("k", "2", {WriteMode::kAppend}).status, StoreStatus::kNotStored);
  flushed();
  EXPECT_EQ(client().Arithmetic("k", true, 1).status, StoreStatus::kNotFound);
  flushed();
  EXPECT_EQ(client().Touch("k", 0), StoreStatus::kNotFound);
  flushed();
  EXPECT_EQ(client().Delete("k"), StoreStatus::kNotFound);
  flushed();
  EXPECT_EQ(client().Write("k", "2", {WriteMode::kAdd}).status, StoreStatus::kStored);
  EXPECT_EQ(store().stats().reclaimed_items, 6u);
}

TEST_F(StoreTest, AnOverwriteOfAFlushedItemCountsAsReclaimed) {
  client().Set("k", "v");
  store().FlushAll(0);
  client().Set("k", "v");
  EXPECT_EQ(store().stats().reclaimed_items, 1u);
}

TEST_F(StoreTest, ASweepRemovesExpiredItems) {
  for (int i = 0; i < 1000; ++i)
    client().Set("k" + std::to_string(i), std::string(500, 'v'), 0, now() + 1 + i % 2 * 1000);
  client().session().EndTurn();
  clock_.Advance(std::chrono::seconds(20));
  Maintain();
  const StoreStats stats = store().stats();
  // Only the segment that is still open keeps its own.
  EXPECT_LE(stats.items, 500 + stats.segment_size_bytes / 500);
  EXPECT_GE(stats.items, 500u);
  EXPECT_EQ(stats.expired_items, 1000 - stats.items);
  EXPECT_EQ(stats.expired_unfetched_items, stats.expired_items);
  for (int i = 1; i < 1000; i += 2) ASSERT_TRUE(client().Get("k" + std::to_string(i)));
}

TEST_F(StoreTest, APinKeepsTheValueItStartedWith) {
  const std::string first(300'000, 'a');
  client().Set("k", first);
  StringSink sink;
  ASSERT_TRUE(client().Read("k", {}, sink));
  ASSERT_NE(sink[0].pin, nullptr);
  client().Set("k", std::string(300'000, 'b'));
  EXPECT_EQ(StringSink::Read(*sink[0].pin), first);
  client().Delete("k");
  // Through many times its memory, and through a shrink to the least.
  for (int i = 0; i < 200; ++i)
    ASSERT_EQ(client().Set("n" + std::to_string(i), std::string(200'000, 'c')),
              StoreStatus::kStored);
  store().SetMemoryTarget(store().min_memory_limit_bytes() + (2 << 20));
  client().session().EndTurn();
  Maintain();
  EXPECT_EQ(StringSink::Read(*sink[0].pin), first);
  // Pieces from the middle, few at a time.
  iovec piece[1];
  ASSERT_EQ(sink[0].pin->FillIovec(123'456, piece, 1), 1);
  EXPECT_EQ(static_cast<const char*>(piece[0].iov_base)[0], 'a');
  EXPECT_EQ(sink[0].pin->FillIovec(300'000, piece, 1), 0);
  sink[0].pin.reset();
  Maintain();
  EXPECT_FALSE(store().resize_state().in_progress);
}

TEST_F(StoreTest, ADroppedUploadLeavesNothing) {
  client().Set("k", "old");
  for (const std::size_t bytes : {100u, 20'000u, 60'000u, 900'000u}) {
    for (int i = 0; i < 50; ++i) {
      WriteHandle handle;
      ASSERT_EQ(client().session().Prepare(client().session().MakeKey("k"), bytes, 0, 0, handle),
                StoreStatus::kOk);
      Client::Fill(handle, std::string(bytes / 2, 'x'));
    }
  }
  EXPECT_THAT(client().Get("k"), Optional(StrEq("old")));
  EXPECT_EQ(store().stats().items, 1u);
  WriteHandle handle;
  ASSERT_EQ(client().session().Prepare(client().session().MakeKey("k"), 900'000, 0, 0, handle),
            StoreStatus::kOk);
  Client::Fill(handle, "unfinished");
  EXPECT_EQ(client().session().Commit(handle, {}).status, StoreStatus::kNotStored);
  EXPECT_FALSE(handle.valid());
}

TEST_F(StoreTest, StalledUploadsCannotTakeAllMemory) {
  std::vector<WriteHandle> stalled;
  for (;;) {
    WriteHandle handle;
    if (client().session().Prepare(client().session().MakeKey("k"), 500'000, 0, 0, handle) !=
        StoreStatus::kOk)
      break;
    Client::Fill(handle, std::string(10'000, 'x'));
    stalled.push_back(std::move(handle));
    ASSERT_LT(stalled.size(), 100u);
  }
  EXPECT_GT(stalled.size(), 3u);
  for (int i = 0; i < 20'000; ++i)
    ASSERT_EQ(client().Set("n" + std::to_string(i), std::string(500, 'v')), StoreStatus::kStored);
  stalled.clear();
  EXPECT_EQ(client().Set("k", std::string(500'000, 'x')), StoreStatus::kStored);
}

TEST_F(StoreTest, WithoutEvictionMemoryRunsOutAndDeletesMakeRoom) {
  StoreOptions options = SmallOptions();
  options.evictions = false;
  Open(options);
  const std::string value(1000, 'v');
  int n = 0;
  while (client().Set("k" + std::to_string(n), value) == StoreStatus::kStored) ++n;
  EXPECT_EQ(client().Set("one more", value), StoreStatus::kOutOfMemory);
  EXPECT_GT(n, 7000);
  for (int i = 0; i < n; ++i) ASSERT_TRUE(client().Get("k" + std::to_string(i))) << i;
  EXPECT_EQ(store().stats().evicted_items, 0u);
  // Every other one goes: their room is scattered over all segments and must be usable
  // nevertheless.
  for (int i = 0; i < n; i += 2)
    EXPECT_EQ(client().Delete("k" + std::to_string(i)), StoreStatus::kOk);
  int more = 0;
  while (client().Set("m" + std::to_string(more), value) == StoreStatus::kStored) ++more;
  EXPECT_GT(more, n * 2 / 5);
  for (int i = 1; i < n; i += 2) ASSERT_TRUE(client().Get("k" + std::to_string(i))) << i;
  EXPECT_EQ(store().stats().evicted_items, 0u);
}

TEST_F(StoreTest, QueuesAddUp) {
  const auto key_of = [](int i) { return "key" + std::to_string(i); };
  const auto evicted = [](const QueueStats& queue) {
    return queue.evicted_for_room_items + queue.evicted_by_shrink_items;
  };
  constexpr int kUsed = 500;
  for (int i = 0; i < 40'000; ++i) {
    ASSERT_EQ(client().Set(key_of(i), std::string(300, 'v')), StoreStatus::kStored);
    if (i < 20'000) client().Get(key_of(i % kUsed));
  }
  StoreStats stats = store().stats();
  EXPECT_GT(stats.main_queue.items, std::uint64_t{kUsed} / 2);
  EXPECT_EQ(stats.small_queue.items + stats.main_queue.items, stats.items);
  EXPECT_EQ(stats.small_queue.item_bytes + stats.main_queue.item_bytes, stats.item_bytes);
  EXPECT_EQ(evicted(stats.small_queue) + evicted(stats.main_queue), stats.evicted_items);
  EXPECT_GT(evicted(stats.small_queue), 0u);
  // Four for each bucket, of seven slots, at most; and no more than have been evicted.
  EXPECT_GT(stats.ghosts, 0u);
  EXPECT_LE(stats.ghosts, std::min(stats.index_slots / 7 * 4, stats.evicted_items));
  // An overwritten item is new again.
  for (int i = 0; i < kUsed; ++i) client().Set(key_of(i), std::string(100, 'v'));
  EXPECT_LT(store().stats().main_queue.items, stats.main_queue.items / 2);
  for (int i = 0; i < 40'000; ++i) client().Delete(key_of(i));
  stats = store().stats();
  EXPECT_EQ(stats.items, 0u);
  EXPECT_EQ(stats.main_queue.items, 0u);
  EXPECT_EQ(stats.main_queue.item_bytes, 0u);
}

TEST_F(StoreTest, OverwritesOfOtherSizesDoNotPushOutWhatLives) {
  // A third of the memory is items nobody touches; the rest of the log fills with dead versions of
  // a few.
  const std::string value(1000, 'v');
  for (int i = 0; i < 2500; ++i) client().Set("cold" + std::to_string(i), value);
  for (int i = 0; i < 100'000; ++i) {
    client().Set("hot" + std::to_string(i % 10),
                 std::string(static_cast<std::size_t>(100 + i * 37 % 900), 'h'));
  }
  EXPECT_EQ(store().stats().evicted_items, 0u);
  for (int i = 0; i < 2500; ++i) ASSERT_TRUE(client().Get("cold" + std::to_string(i))) << i;
}

TEST_F(StoreTest, ExternalChargesPushItemsOut) {
  const std::string value(1000, 'v');
  for (int i = 0; i < 7000; ++i) client().Set("k" + std::to_string(i), value);
  client().session().EndTurn();
  store().ChargeExternal(4 << 20);
  Maintain();
  const StoreStats stats = store().stats();
  EXPECT_GE(stats.external_bytes, 4u << 20);
  EXPECT_LE(stats.segment_bytes + stats.index_bytes + stats.external_bytes,
            stats.memory_limit_bytes);
  EXPECT_GT(stats.evicted_items, 0u);
  store().ChargeExternal(-(4 << 20));
}

TEST_F(StoreTest, EveryAllocationOfTheSetPathMayFail) {
  // Fails one allocation after the other in the same run of writes, until the run needs no more of
  // them.
  const std::string sizes[] = {std::string(10, 'a'), std::string(3000, 'b'),
                               std::string(20'000, 'c'), std::string(70'000, 'd'),
                               std::string(200'000, 'e')};
  int refused = 0;
  for (std::int64_t nth = 0;; ++nth) {
    memory::AllocationGate gate;
    StoreOptions options = SmallOptions();
    options.allocation_gate = &gate;
    Open(options);
    gate.FailAfter(nth);
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      const std::string key = "k" + std::to_string(i);
      for (const WriteMode mode : {WriteMode::kSet, WriteMode::kSet, WriteMode::kAppend}) {
        const StoreStatus status =
            client().Write(key, mode == WriteMode::kAppend ? "tail" : sizes[i], {mode}).status;
        ASSERT_TRUE(status == StoreStatus::kStored || status == StoreStatus::kOutOfMemory ||
                    (status == StoreStatus::kNotStored && mode == WriteMode::kAppend));
        refused += status == StoreStatus::kOutOfMemory;
      }
      const StoreStatus whole = client().SetAll({{{key}, sizes[i]}})[0];
      ASSERT_TRUE(whole == StoreStatus::kStored || whole == StoreStatus::kOutOfMemory);
      const auto value = client().Get(key);
      ASSERT_TRUE(value.has_value() == (whole == StoreStatus::kStored)) << nth;
      if (value) {
        EXPECT_TRUE(*value == sizes[i] || *value == sizes[i] + "tail");
      }
    }
    const bool reached = gate.asked() > nth;
    gate.Disarm();
    for (std::size_t i = 0; i < std::size(sizes); ++i) {
      ASSERT_EQ(client().Set("k" + std::to_string(i), sizes[i]), StoreStatus::kStored) << nth;
      ASSERT_THAT(client().Get("k" + std::to_string(i)), Optional(StrEq(sizes[i])));
    }
    client_.reset();
    EXPECT_EQ(store().stats().external_bytes, 0u);
    store_.reset();
    if (!reached) break;
    ASSERT_LT(nth, 10'000);
  }
  EXPECT_GT(refused, 3);
}

TEST_F(StoreTest, LimitsOfTheLimit) {
  EXPECT_FALSE(store().SetMemoryTarget(store().min_memory_limit_bytes() - 1));
  EXPECT_FALSE(store().SetMemoryTarget(store().max_memory_limit_bytes() + 1));
  EXPECT_EQ(store().resize_state().generation, 0u);
  EXPECT_TRUE(store().SetMemoryTarget(store().max_memory_limit_bytes()));
  EXPECT_EQ(store().resize_state().generation, 1u);
  EXPECT_GE(store().max_memory_limit_bytes(), memory::PhysicalMemoryBytes());
}

// Items leave in the order they came, whoever stored them: after 0.4 of the budget was written
// since, each must still be there.
TEST_F(StoreTest, ItemsOfASlowWriterStayAsLongAsOthers) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 4 << 20;
  Open(options);
  Client slow(store());
  const std::string value(1000, 'v');
  int n = 0;
  for (int round = 0; round < 60; ++round) {
    const std::string key = "slow" + std::to_string(round);
    ASSERT_EQ(slow.Set(key, std::string(100, 's')), StoreStatus::kStored);
    slow.session().EndTurn();
    for (std::size_t written = 0; written < (4 << 20) * 2 / 5; written += value.size()) {
      ASSERT_EQ(client().Set("fast" + std::to_string(n++), value), StoreStatus::kStored);
      client().session().EndTurn();
    }
    ASSERT_TRUE(slow.Get(key)) << round;
  }
  EXPECT_GT(store().stats().evicted_items, 0u);
}

// The same of a large item, whose small record lies apart from its pieces.
TEST_F(StoreTest, LargeItemsAreThereRightAfterTheyWereStored) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 48 << 20;
  options.background_maintenance = true;
  Open(options);
  const std::string value(573'000, 'v');
  for (int i = 0; i < 1000; ++i) {
    const std::string key = "key" + std::to_string(i);
    ASSERT_EQ(client().Set(key, value), StoreStatus::kStored);
    client().session().EndTurn();
    ASSERT_TRUE(client().Get(key)) << i;
    client().session().EndTurn();
  }
  EXPECT_GT(store().stats().evicted_items, 0u);
}

}  // namespace
}  // namespace podcache::store
