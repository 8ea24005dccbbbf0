// Detailed reads, leases, stale items and CAS ids chosen by clients.
#include <gmock/gmock.h>

#include <array>
#include <atomic>
#include <thread>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

using std::chrono::seconds;

class StoreLeaseTest : public StoreTest {
 protected:
  ItemMeta Read(std::string_view key, const DetailedRead& read = {}) {
    const std::optional<ItemMeta> meta = client().Detailed(key, read);
    EXPECT_TRUE(meta.has_value()) << key;
    return meta.value_or(ItemMeta());
  }
  static DetailedRead Creating(std::int64_t exptime) {
    DetailedRead read;
    read.create = true;
    read.create_exptime = exptime;
    return read;
  }
  static DetailedRead Unnoticed() {
    DetailedRead read;
    read.counts_as_use = false;
    return read;
  }
  DetailedRead Recaching(std::int64_t ttl) const {
    DetailedRead read;
    read.recache = true;
    read.recache_before = now() + ttl;
    return read;
  }
  static InvalidateOptions Stale() {
    InvalidateOptions options;
    options.mark_stale = true;
    return options;
  }
};

TEST_F(StoreLeaseTest, MakesAnItemOnAMissForOneReader) {
  EXPECT_EQ(client().Detailed("k"), std::nullopt);
  const ItemMeta first = Read("k", Creating(now() + 30));
  EXPECT_TRUE(first.created);
  EXPECT_EQ(first.won, Lease::kVivify);
  EXPECT_EQ(first.held, Lease::kNone);
  EXPECT_EQ(first.exptime, now() + 30);
  const ItemMeta second = Read("k", Creating(now() + 99));
  EXPECT_FALSE(second.created);
  EXPECT_EQ(second.won, Lease::kNone);
  EXPECT_EQ(second.held, Lease::kVivify);
  EXPECT_EQ(second.exptime, now() + 30);
  EXPECT_EQ(client().Get("k"), "");
  // The write ends the lease.
  client().Set("k", "value");
  EXPECT_EQ(Read("k").held, Lease::kNone);
  EXPECT_EQ(store().stats().items, 1u);
}

TEST_F(StoreLeaseTest, MakesAnItemInPlaceOfAnExpiredOne) {
  client().Set("k", "value", 0, now() + 5);
  clock_.Advance(seconds(5));
  EXPECT_TRUE(Read("k", Creating(0)).created);
  EXPECT_EQ(client().counters().Read(metrics::Counter::kGetExpired), 1u);
}

TEST_F(StoreLeaseTest, AMadeItemMayHaveExpiredAlready) {
  EXPECT_EQ(Read("k", Creating(kExpiredImmediately)).won, Lease::kVivify);
  EXPECT_EQ(client().Detailed("k"), std::nullopt);
}

TEST_F(StoreLeaseTest, RecachesWhenLittleTimeIsLeft) {
  client().Set("k", "value", 0, now() + 60);
  EXPECT_EQ(Read("k", Recaching(60)).won, Lease::kNone);
  EXPECT_EQ(Read("k", Recaching(61)).won, Lease::kRecache);
  const ItemMeta later = Read("k", Recaching(61));
  EXPECT_EQ(later.won, Lease::kNone);
  EXPECT_EQ(later.held, Lease::kRecache);
  client().Set("k", "value");
  EXPECT_EQ(Read("k", Recaching(61)).won, Lease::kNone) << "it never expires";
}

TEST_F(StoreLeaseTest, RecachingMaySeeTheExpiryThatTheReadSets) {
  DetailedRead read = Recaching(90);
  read.set_exptime = true;
  read.exptime = now() + 300;
  client().Set("k", "value", 0, now() + 60);
  read.recache_after_set = true;
  EXPECT_EQ(Read("k", read).won, Lease::kNone);
  client().Set("k", "value", 0, now() + 60);
  read.recache_after_set = false;
  const ItemMeta meta = Read("k", read);
  EXPECT_EQ(meta.won, Lease::kRecache);
  EXPECT_EQ(meta.exptime, now() + 60) << "what the read found";
  EXPECT_EQ(Read("k").exptime, now() + 300);
}

TEST_F(StoreLeaseTest, StaleItemsAskOneReaderToRenewThem) {
  client().Set("k", "value", 7, now() + 60);
  const std::uint64_t before = client().Cas("k");
  InvalidateOptions options = Stale();
  options.set_exptime = true;
  options.exptime = now() + 30;
  EXPECT_EQ(client().Invalidate("k", options), StoreStatus::kOk);
  DetailedRead read;
  read.want_cas = read.want_value = true;
  std::string value;
  const ItemMeta first = client().Detailed("k", read, &value).value();
  EXPECT_EQ(value, "value");
  EXPECT_TRUE(first.stale);
  EXPECT_EQ(first.won, Lease::kStale);
  EXPECT_GT(first.cas, before);
  EXPECT_EQ(first.exptime, now() + 30);
  EXPECT_EQ(first.client_flags, 7u);
  const ItemMeta second = Read("k");
  EXPECT_TRUE(second.stale);
  EXPECT_EQ(second.won, Lease::kNone);
  EXPECT_EQ(second.held, Lease::kStale);
  // Stale once more: once more somebody is asked.
  EXPECT_EQ(client().Invalidate("k", Stale()), StoreStatus::kOk);
  EXPECT_EQ(Read("k").won, Lease::kStale);
  client().Touch("k", 0);
  client().Arithmetic("k", {});
  EXPECT_TRUE(Read("k").stale);
  client().Set("k", "value");
  EXPECT_FALSE(Read("k").stale);
  EXPECT_EQ(Read("k").held, Lease::kNone);
}

TEST_F(StoreLeaseTest, NumbersStayStaleWhenTheyChange) {
  client().Set("n", "9");
  client().Invalidate("n", Stale());
  ASSERT_EQ(client().Arithmetic("n", {}).value, 10u);
  client().Cas("n");
  ASSERT_EQ(client().Arithmetic("n", {}).value, 11u);
  EXPECT_EQ(Read("n").won, Lease::kStale);
  ASSERT_EQ(client().Arithmetic("n", {}).value, 12u);
  EXPECT_EQ(Read("n").held, Lease::kStale);
}

TEST_F(StoreLeaseTest, ALargeItemCanBeStale) {
  const std::string value(300'000, 'x');
  client().Set("k", value);
  EXPECT_EQ(client().Invalidate("k", Stale()), StoreStatus::kOk);
  EXPECT_EQ(Read("k").won, Lease::kStale);
  EXPECT_EQ(client().Get("k"), value);
  InvalidateOptions drop;
  drop.drop_value = true;
  EXPECT_EQ(client().Invalidate("k", drop), StoreStatus::kOk);
  EXPECT_EQ(client().Get("k"), "");
}

TEST_F(StoreLeaseTest, OverwritingInPlaceEndsStaleness) {
  client().Set("k", "value1");
  client().Invalidate("k", Stale());
  client().Set("k", "value2");
  EXPECT_FALSE(Read("k").stale);
}

TEST_F(StoreLeaseTest, InvalidatingLeavesWhatIsAskedFor) {
  client().Set("k", "value", 7, now() + 60);
  InvalidateOptions drop;
  drop.drop_value = true;
  drop.compare = true;
  drop.compare_cas = 1;
  EXPECT_EQ(client().Invalidate("k", drop), StoreStatus::kExists);
  EXPECT_EQ(client().Get("k"), "value");
  drop.compare_cas = client().Cas("k");
  drop.set_cas = 90;
  EXPECT_EQ(client().Invalidate("k", drop), StoreStatus::kOk);
  const ItemMeta meta = Read("k", Unnoticed());
  EXPECT_EQ(meta.value_bytes, 0u);
  EXPECT_EQ(meta.client_flags, 0u);
  EXPECT_EQ(meta.exptime, 0);
  EXPECT_FALSE(meta.stale);
  EXPECT_FALSE(meta.fetched);
  EXPECT_EQ(client().Cas("k"), 90u);
  InvalidateOptions tombstone = Stale();
  tombstone.drop_value = true;
  tombstone.set_exptime = true;
  tombstone.exptime = now() + 9;
  EXPECT_EQ(client().Invalidate("k", tombstone), StoreStatus::kOk);
  EXPECT_EQ(Read("k").exptime, now() + 9);
  EXPECT_TRUE(Read("k").stale);
  InvalidateOptions all;
  all.compare = true;
  EXPECT_EQ(client().Invalidate("k", all), StoreStatus::kExists) << "0 is no item's id";
  EXPECT_EQ(client().Invalidate("k", {}), StoreStatus::kOk);
  EXPECT_EQ(client().Invalidate("k", {}), StoreStatus::kNotFound);
  EXPECT_EQ(store().stats().items, 0u);
}

TEST_F(StoreLeaseTest, AnItemWithoutItsValueKeepsItsId) {
  InvalidateOptions drop;
  drop.drop_value = true;
  client().Set("k", "value");
  const std::uint64_t cas = client().Cas("k");
  EXPECT_EQ(client().Invalidate("k", drop), StoreStatus::kOk);
  EXPECT_EQ(client().Cas("k"), cas);
  drop.mark_stale = true;
  EXPECT_EQ(client().Invalidate("k", drop), StoreStatus::kOk);
  EXPECT_GT(client().Cas("k"), cas);
}

TEST_F(StoreLeaseTest, AnOlderValueIsStoredStale) {
  client().Write("k", "one", {.set_cas = 100});
  EXPECT_EQ(client().Cas("k"), 100u);
  WriteOptions older{.mode = WriteMode::kCas, .compare_cas = 99};
  EXPECT_EQ(client().Write("k", "two", older).status, StoreStatus::kExists);
  older.stale_if_older = true;
  EXPECT_EQ(client().Write("k", "two", older).status, StoreStatus::kStored);
  EXPECT_EQ(client().Get("k"), "two");
  EXPECT_EQ(Read("k").won, Lease::kStale);
  // Who has been asked to renew it still is, and it lives no longer than before.
  EXPECT_EQ(client().Write("k", "more", older, 0, now() + 90).status, StoreStatus::kStored);
  EXPECT_EQ(Read("k").held, Lease::kStale);
  EXPECT_EQ(Read("k").exptime, 0);
  client().Write("k", "three", {.set_cas = 100});
  WriteOptions newer{.mode = WriteMode::kCas, .compare_cas = 101, .stale_if_older = true};
  EXPECT_EQ(client().Write("k", "four", newer).status, StoreStatus::kExists);
  newer.compare_cas = 100;
  EXPECT_EQ(client().Write("k", "four", newer).status, StoreStatus::kStored);
  EXPECT_FALSE(Read("k").stale);
}

TEST_F(StoreLeaseTest, AppendsMayCreate) {
  WriteOptions options{.mode = WriteMode::kAppend, .create = true};
  const WriteResult made = client().Write("k", "ab", options, 9, now() + 30);
  EXPECT_EQ(made.status, StoreStatus::kStored);
  EXPECT_EQ(made.value_bytes, 2u);
  options.mode = WriteMode::kPrepend;
  options.set_cas = 77;
  options.want_cas = true;
  const WriteResult more = client().Write("k", "xyz", options, 1, 0);
  EXPECT_EQ(more.value_bytes, 5u);
  EXPECT_EQ(more.cas, 77u);
  EXPECT_EQ(client().Get("k"), "xyzab");
  EXPECT_EQ(Read("k").client_flags, 9u);
  EXPECT_EQ(Read("k").exptime, now() + 30);
  const std::string large(200'000, 'z');
  EXPECT_EQ(client().Write("large", large, options).value_bytes, large.size());
  EXPECT_EQ(client().Write("k", large, options).value_bytes, large.size() + 5);
  EXPECT_EQ(client().Cas("k"), 77u);
}

TEST_F(StoreLeaseTest, ArithmeticSetsExpiryAndCas) {
  client().Set("n", "5", 3, now() + 60);
  ArithmeticOptions options;
  options.set_exptime = true;
  options.new_exptime = now() + 10;
  EXPECT_EQ(client().Arithmetic("n", options).exptime_before, now() + 60);
  EXPECT_EQ(Read("n").exptime, now() + 10);
  client().Set("m", "5", 3);
  options.set_cas = 44;
  options.want_cas = true;
  EXPECT_EQ(client().Arithmetic("m", options).cas, 44u);
  EXPECT_EQ(Read("m").exptime, now() + 10) << "there was no field for it";
  EXPECT_EQ(Read("m").client_flags, 3u);
  options.create = true;
  options.exptime = now() + 3;
  const ArithmeticResult made = client().Arithmetic("new", options);
  EXPECT_TRUE(made.created);
  EXPECT_EQ(made.cas, 44u);
  EXPECT_EQ(Read("new").exptime, now() + 3);
}

TEST_F(StoreLeaseTest, TellsOfUse) {
  client().Set("k", "5");
  clock_.Advance(seconds(3));
  EXPECT_FALSE(Read("k", Unnoticed()).fetched);
  const ItemMeta first = Read("k");
  EXPECT_FALSE(first.fetched);
  EXPECT_EQ(first.idle_seconds, 3u);
  clock_.Advance(seconds(2));
  EXPECT_TRUE(Read("k", Unnoticed()).fetched);
  EXPECT_EQ(Read("k", Unnoticed()).idle_seconds, 2u);
  client().Get("k");
  EXPECT_EQ(Read("k", Unnoticed()).idle_seconds, 0u);
  client().Set("k", "6");
  EXPECT_FALSE(Read("k", Unnoticed()).fetched);
  clock_.Advance(seconds(2));
  client().Arithmetic("k", {});
  EXPECT_FALSE(Read("k", Unnoticed()).fetched) << "a change is no fetch";
  for (const std::uint64_t delta : {1u, 100u}) {
    client().Get("k");
    ArithmeticOptions add;
    add.delta = delta;
    client().Arithmetic("k", add);
    EXPECT_FALSE(Read("k", Unnoticed()).fetched) << "nobody has seen the sum yet";
    client().Get("k");
    EXPECT_TRUE(Read("k", Unnoticed()).fetched);
    client().Arithmetic("k", {});
  }
  EXPECT_EQ(Read("k", Unnoticed()).idle_seconds, 0u);
  client().Touch("k", now() + 10);
  EXPECT_TRUE(Read("k", Unnoticed()).fetched);
  clock_.Advance(std::chrono::seconds(-2));
  EXPECT_EQ(Read("k", Unnoticed()).idle_seconds, 0u) << "the clock was set back";
}

TEST_F(StoreLeaseTest, LeavesKnownValuesOut) {
  client().Write("k", "value", {.set_cas = 100});
  DetailedRead read;
  read.want_value = read.skip_known = true;
  read.known_cas = 100;
  EXPECT_FALSE(Read("k", read).has_value);
  read.known_cas = 99;
  EXPECT_TRUE(Read("k", read).has_value);
  read.want_value = false;
  EXPECT_FALSE(Read("k", read).has_value);
}

TEST_F(StoreLeaseTest, ABatchKeepsItsOrder) {
  client().Set("a", "1");
  client().Set("b", std::string(50'000, 'b'));
  std::array<DetailedRead, 4> reads;
  const std::array<const char*, 4> keys = {"a", "none", "b", "a"};
  for (std::size_t i = 0; i < reads.size(); ++i) {
    reads[i].key = client().session().MakeKey(keys[i]);
    reads[i].want_value = i != 3;
  }
  StringSink sink(4);
  std::array<StoreStatus, 4> statuses;
  client().session().GetDetailed(reads, sink, statuses);
  EXPECT_THAT(statuses, ::testing::ElementsAre(StoreStatus::kOk, StoreStatus::kNotFound,
                                               StoreStatus::kOk, StoreStatus::kOk));
  EXPECT_EQ(sink[0].value, "1");
  EXPECT_EQ(sink[2].value.size(), 50'000u);
  EXPECT_EQ(sink[3].value, "");
  EXPECT_EQ(sink[3].meta.value_bytes, 1u);
}

TEST_F(StoreLeaseTest, WithoutMemoryNothingIsMade) {
  memory::AllocationGate gate;
  StoreOptions options = SmallOptions();
  options.allocation_gate = &gate;
  options.evictions = false;
  Open(options);
  for (int i = 0;
       client().Set("fill" + std::to_string(i), std::string(3000, 'x')) == StoreStatus::kStored;
       ++i) {
  }
  int made = 0;
  std::optional<ItemMeta> meta;
  do {
    meta = client().Detailed("new" + std::to_string(made++), Creating(0));
  } while (meta && made < 1'000'000);
  EXPECT_EQ(meta, std::nullopt);
}

// The ids of one key rise, though the log positions they are made from are handed out to several
// writers in chunks.
TEST_F(StoreLeaseTest, KnownCasIdsRise) {
  Client other(store());
  client().Set("warm", "up");
  other.Set("warm2", "up");
  std::uint64_t last = 0;
  for (int i = 0; i < 200; ++i) {
    Client& writer = i % 2 == 0 ? other : client();
    std::uint64_t cas = 0;
    switch (i % 5) {
      case 0:
        writer.Set("k", std::to_string(i));
        break;
      case 1:
        writer.Write("k", "1", {WriteMode::kAppend});
        break;
      case 2:
        writer.Arithmetic("k", {});
        break;
      default:
        writer.Invalidate("k", Stale());
        break;
    }
    cas = writer.Cas("k");
    ASSERT_GT(cas, last) << i;
    last = cas;
  }
}

TEST_F(StoreLeaseTest, WithoutCasIdsNothingMatches) {
  StoreOptions options = SmallOptions();
  options.cas = false;
  Open(options);
  client().Write("k", "value", {.set_cas = 100});
  DetailedRead read;
  read.want_cas = read.want_value = read.skip_known = true;
  read.known_cas = 100;
  EXPECT_EQ(Read("k", read).cas, 0u);
  EXPECT_TRUE(Read("k", read).has_value);
  InvalidateOptions compare;
  compare.compare = true;
  compare.compare_cas = 100;
  EXPECT_EQ(client().Invalidate("k", compare), StoreStatus::kExists);
}

// Eight threads ask for every key at once: one of them gets the lease.
TEST_F(StoreLeaseTest, OneWinnerForEachLease) {
  constexpr int kThreads = 8;
  constexpr int kKeys = 10'000;
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 64 << 20;
  options.background_maintenance = true;
  Open(options);
  std::atomic<int> made{0};
  std::atomic<int> recached{0};
  std::atomic<int> renewed{0};
  std::atomic<int> waited{0};
  const auto round = [&](const std::function<void(Client&, const std::string&)>& body) {
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&] {
        Client mine(store());
        for (int key = 0; key < kKeys; ++key) body(mine, "k" + std::to_string(key));
      });
    }
    for (std::thread& thread : threads) thread.join();
  };
  const auto count = [&](const ItemMeta& meta) {
    made += meta.won == Lease::kVivify;
    recached += meta.won == Lease::kRecache;
    renewed += meta.won == Lease::kStale;
    waited += meta.held != Lease::kNone;
  };
  round([&](Client& mine, const std::string& key) {
    count(mine.Detailed(key, Creating(now() + 50)).value());
  });
  EXPECT_EQ(made.load(), kKeys);
  EXPECT_EQ(waited.load(), (kThreads - 1) * kKeys);
  for (int key = 0; key < kKeys; ++key)
    client().Set("k" + std::to_string(key), "value", 0, now() + 10);
  client().session().EndTurn();
  round([&](Client& mine, const std::string& key) {
    count(mine.Detailed(key, Recaching(30)).value());
  });
  EXPECT_EQ(recached.load(), kKeys);
  for (int key = 0; key < kKeys; ++key) client().Invalidate("k" + std::to_string(key), Stale());
  client().session().EndTurn();
  round([&](Client& mine, const std::string& key) {
    count(mine.Detailed(key, Recaching(30)).value());
  });
  EXPECT_EQ(renewed.load(), kKeys);
  EXPECT_EQ(made.load() + recached.load(), 2 * kKeys);
  EXPECT_EQ(waited.load(), 3 * (kThreads - 1) * kKeys);
}

}  // namespace
}  // namespace podcache::store
