// Several threads on one store: values that check themselves, sums that must come out exactly,
// while the memory limit moves and readers hold on to what they read.
#include <gmock/gmock.h>

#include <deque>
#include <functional>
#include <random>
#include <thread>

#include "tests/unit/server/store/checked_value.h"
#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

constexpr int kThreads = 4;

void RunThreads(int n, const std::function<void(int)>& body) {
  std::vector<std::thread> threads;
  for (int i = 0; i < n; ++i) threads.emplace_back(body, i);
  for (std::thread& thread : threads) thread.join();
}

class StoreStressTest : public StoreTest {
 protected:
  void SetUp() override {}
  void OpenWith(std::uint64_t limit_bytes) {
    StoreOptions options = SmallOptions();
    options.memory_limit_bytes = limit_bytes;
    options.background_maintenance = true;
    Open(options);
  }
};

TEST_F(StoreStressTest, ValuesAreNeverTornWhileTheLimitMoves) {
  OpenWith(8 << 20);
  constexpr std::uint64_t kKeys = 20'000;
  constexpr int kSteps = 40'000;
  std::atomic<bool> done{false};
  std::atomic<int> bad{0};
  std::atomic<int> running{kThreads};
  RunThreads(kThreads + 1, [&](int thread) {
    if (thread == kThreads) {
      std::mt19937_64 random(99);
      while (!done.load()) {
        store().SetMemoryTarget(store().min_memory_limit_bytes() + random() % (12 << 20));
        store().ChargeExternal(1 << 18);
        std::this_thread::yield();
        store().ChargeExternal(-(1 << 18));
        store().stats();
        for (int i = 0; i < 100; ++i) std::this_thread::yield();
      }
      return;
    }
    std::mt19937_64 random(static_cast<std::uint64_t>(thread));
    Client mine(store());
    std::deque<std::pair<std::uint64_t, std::unique_ptr<PinnedBytes>>> pins;
    for (int i = 0; i < kSteps; ++i) {
      const std::uint64_t key = random() % kKeys;
      const std::string name = "k" + std::to_string(key);
      const auto dice = random() % 100;
      if (dice < 40) {
        const std::size_t words = dice == 0 ? random() % 16'000 : random() % 64;
        const StoreStatus status =
            mine.Set(name, MakeValue(key, random(), words), 0, dice < 10 ? now() + 1 : 0);
        if (status != StoreStatus::kStored && status != StoreStatus::kOutOfMemory) ++bad;
        if (status == StoreStatus::kOutOfMemory) mine.Delete(name);
      } else if (dice < 90) {
        StringSink sink;
        ReadOptions options;
        options.want_cas = dice < 50;
        options.set_exptime = dice == 51;
        options.exptime = now() + 100;
        if (mine.Read(name, options, sink) && !IsWhole(key, sink[0].value)) ++bad;
        if (sink[0].pin != nullptr) pins.emplace_back(key, std::move(sink[0].pin));
      } else if (dice < 94) {
        mine.Delete(name);
      } else if (dice < 97) {
        mine.Touch(name, now() + 50);
      } else {
        const std::uint64_t cas = mine.Cas(name);
        if (cas != 0)
          mine.Write(name, MakeValue(key, random(), random() % 64), {WriteMode::kCas, cas, true});
      }
      // What is pinned keeps its value, whatever happened to the item.
      if (pins.size() > 8) {
        if (!IsWhole(pins.front().first, StringSink::Read(*pins.front().second))) ++bad;
        pins.pop_front();
      }
      if (i % 16 == 0) mine.session().EndTurn();
      if (i % 5000 == 0 && thread == 0) store().FlushAll(0);
      if (i % 1000 == 0 && thread == 1) clock_.Advance(std::chrono::milliseconds(300));
    }
    pins.clear();
    if (--running == 0) done = true;
  });
  EXPECT_EQ(bad.load(), 0);
  ASSERT_TRUE(store().SetMemoryTarget(8 << 20));
  client().session().EndTurn();
  while (store().MaintainOnce() || store().resize_state().in_progress) std::this_thread::yield();
  const StoreStats stats = store().stats();
  EXPECT_LE(stats.segment_bytes + stats.index_bytes + stats.external_bytes, 8u << 20);
  // Nothing is left of all that once everything is deleted: the counts balance.
  for (std::uint64_t key = 0; key < kKeys; ++key) client().Delete("k" + std::to_string(key));
  EXPECT_EQ(store().stats().items, 0u);
  EXPECT_EQ(store().stats().item_bytes, 0u);
}

TEST_F(StoreStressTest, IncrementsSumUpExactly) {
  OpenWith(64 << 20);
  constexpr int kIncrements = 20'000;
  constexpr int kCounters = 3;
  for (int i = 0; i < kCounters; ++i) client().Set("n" + std::to_string(i), "0");
  RunThreads(kThreads, [&](int thread) {
    Client mine(store());
    for (int i = 0; i < kIncrements; ++i) {
      const std::string name = "n" + std::to_string(i % kCounters);
      EXPECT_EQ(mine.Arithmetic(name, true, 3).status, StoreStatus::kOk);
      EXPECT_EQ(mine.Arithmetic(name, false, 1).status, StoreStatus::kOk);
      if (i % 64 == thread) mine.Cas(name);  // An observed id forces a new record.
      if (i % 128 == thread) mine.Touch(name, i % 256 == thread ? 0 : now() + 1000);
      if (i % 32 == 0) mine.session().EndTurn();
    }
  });
  std::uint64_t sum = 0;
  for (int i = 0; i < kCounters; ++i)
    sum += std::stoull(client().Get("n" + std::to_string(i)).value_or("0"));
  EXPECT_EQ(sum, 2u * kThreads * kIncrements);
}

TEST_F(StoreStressTest, CreatingIncrementsLoseNothing) {
  OpenWith(64 << 20);
  constexpr int kKeys = 10'000;
  constexpr int kClients = 8;
  std::atomic<int> created{0};
  std::atomic<int> refused{0};
  RunThreads(kClients, [&](int thread) {
    Client mine(store());
    ArithmeticOptions options;
    options.create = true;
    options.want_cas = thread % 2 == 0;
    for (int i = 0; i < kKeys; ++i) {
      const ArithmeticResult result = mine.Arithmetic("n" + std::to_string(i), options);
      created += result.created;
      refused += result.status != StoreStatus::kOk;
      if (i % 32 == 0) mine.session().EndTurn();
    }
  });
  EXPECT_EQ(refused.load(), 0);
  EXPECT_EQ(created.load(), kKeys);
  // One of them created it as 0, the others added 1.
  for (int i = 0; i < kKeys; ++i)
    ASSERT_EQ(client().Get("n" + std::to_string(i)), std::to_string(kClients - 1)) << i;
}

TEST_F(StoreStressTest, ADeleteTakesOnlyTheItemItCompares) {
  OpenWith(64 << 20);
  constexpr int kRounds = 20'000;
  std::atomic<int> stored{0};
  std::atomic<int> deleted{0};
  RunThreads(kThreads, [&](int thread) {
    Client mine(store());
    for (int i = 0; i < kRounds; ++i) {
      if (thread % 2 == 0) {
        // Each add that succeeds makes one item; a replace makes another out of it.
        stored += mine.Write("k", "v", {WriteMode::kAdd}).status == StoreStatus::kStored;
        mine.Write("k", "w", {WriteMode::kReplace, 0, i % 2 == 0});
      } else if (const std::uint64_t cas = mine.Cas("k"); cas != 0) {
        deleted += mine.Delete("k", cas) == StoreStatus::kOk;
      }
      if (i % 64 == 0) mine.session().EndTurn();
    }
  });
  EXPECT_EQ(stored.load(), deleted.load() + (client().Get("k") ? 1 : 0));
}

TEST_F(StoreStressTest, CompareAndSwapHasOneWinner) {
  OpenWith(64 << 20);
  constexpr int kRounds = 5000;
  client().Set("n", "0");
  std::atomic<std::uint64_t> lost{0};
  RunThreads(kThreads, [&](int thread) {
    Client mine(store());
    for (int done = 0; done < kRounds;) {
      StringSink sink;
      ReadOptions options;
      options.want_cas = true;
      if (!mine.Read("n", options, sink)) break;
      const std::string next = std::to_string(std::stoull(sink[0].value) + 1);
      const WriteResult result = mine.Write("n", next, {WriteMode::kCas, sink[0].meta.cas, false});
      if (result.status == StoreStatus::kStored) {
        ++done;
      } else {
        EXPECT_EQ(result.status, StoreStatus::kExists);
        ++lost;
      }
      // Other traffic, so that records move while ids are out.
      mine.Set("noise" + std::to_string(thread) + std::to_string(done % 1000),
               std::string(500, 'x'));
    }
  });
  EXPECT_EQ(client().Get("n"), std::to_string(kThreads * kRounds));
}

TEST_F(StoreStressTest, AppendsLoseNothing) {
  OpenWith(64 << 20);
  constexpr int kAppends = 1500;
  client().Set("log", "");
  RunThreads(kThreads, [&](int thread) {
    Client mine(store());
    const std::string mark(24, static_cast<char>('a' + thread));
    for (int i = 0; i < kAppends; ++i) {
      EXPECT_EQ(
          mine.Write("log", mark, {i % 2 == 0 ? WriteMode::kAppend : WriteMode::kPrepend}).status,
          StoreStatus::kStored);
    }
  });
  const std::string all = client().Get("log").value_or("");
  ASSERT_EQ(all.size(), 24u * kAppends * kThreads);
  for (int thread = 0; thread < kThreads; ++thread) {
    EXPECT_EQ(std::count(all.begin(), all.end(), static_cast<char>('a' + thread)), 24 * kAppends);
  }
  for (std::size_t i = 0; i < all.size(); i += 24) {
    ASSERT_EQ(all.substr(i, 24), std::string(24, all[i])) << "torn at " << i;
  }
}

TEST_F(StoreStressTest, AddHasOneWinner) {
  OpenWith(64 << 20);
  constexpr int kKeys = 5000;
  std::atomic<int> winners{0};
  RunThreads(kThreads, [&](int thread) {
    Client mine(store());
    for (int i = 0; i < kKeys; ++i) {
      const WriteResult result =
          mine.Write("k" + std::to_string(i), std::to_string(thread), {WriteMode::kAdd});
      if (result.status == StoreStatus::kStored) ++winners;
    }
  });
  EXPECT_EQ(winners.load(), kKeys);
}

}  // namespace
}  // namespace podcache::store
