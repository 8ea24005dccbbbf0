// Readers without locks against everything that may happen to what they read: overwriting in place,
// counting in place, new expiries, deletion, eviction, growth and shrinking of the index, segments
// and arrays that go back to the kernel. Every value tells whether it is whole and whose it is.
#include <atomic>
#include <functional>
#include <random>
#include <thread>

#include "tests/unit/server/store/checked_value.h"
#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

// Hot keys are hit by all, always with values of one size, so that they are overwritten in place.
constexpr std::uint64_t kHotKeys = 16;
constexpr std::size_t kHotWords = 30;
constexpr std::uint64_t kColdKeys = 30'000;
constexpr int kSteps = 25'000;

std::string HotName(std::uint64_t key) { return "hot" + std::to_string(key); }
std::string ColdName(std::uint64_t key) {
  return "a-cold-key-of-some-length" + std::to_string(key);
}
std::string CounterName(std::uint64_t key) { return "counter" + std::to_string(key); }

class StoreTortureTest : public StoreTest {
 protected:
  void SetUp() override {
    StoreOptions options = SmallOptions();
    options.memory_limit_bytes = 4 << 20;
    options.background_maintenance = true;
    Open(options);
  }
  void Reader(std::uint64_t seed);
  void Overwriter(std::uint64_t seed);
  void Filler(std::uint64_t seed);
  void Resizer(std::uint64_t seed);
  void CheckHit(const std::string& name, std::uint64_t key, StringSink::Entry& entry) {
    if (entry.ended && !IsWhole(key, entry.value)) {
      ++bad_;
      ADD_FAILURE() << name << " of " << entry.value.size();
    }
    hits_ += entry.ended;
  }

  std::atomic<bool> done_{false};
  std::atomic<int> bad_{0};
  std::atomic<std::uint64_t> hits_{0};
};

void StoreTortureTest::Reader(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Client mine(store());
  constexpr std::size_t kBatch = StoreSession::kMaxBatch;
  for (int step = 0; !done_.load(); ++step) {
    std::uint64_t ids[kBatch];
    std::string names[kBatch];
    Key keys[kBatch];
    StoreStatus statuses[kBatch];
    StringSink sink(kBatch);
    for (std::size_t i = 0; i < kBatch; ++i) {
      const bool hot = random() % 2 == 0;
      ids[i] = hot ? random() % kHotKeys : kHotKeys + random() % kColdKeys;
      names[i] = hot ? HotName(ids[i]) : ColdName(ids[i]);
      keys[i] = mine.session().MakeKey(names[i]);
    }
    ReadOptions options;
    options.want_cas = step % 8 == 0;
    mine.session().Get(keys, options, sink, statuses);
    for (std::size_t i = 0; i < kBatch; ++i) {
      EXPECT_EQ(statuses[i] == StoreStatus::kOk, sink[i].ended);
      CheckHit(names[i], ids[i], sink[i]);
    }
    const std::string count = mine.Get(CounterName(random() % kHotKeys)).value_or("0");
    // Counters go up by 1111111111: any mixture of two numbers has other digits.
    if (std::stoull(count) % 1'111'111'111 != 0) ++bad_;
    if (step % 4 == 0) mine.session().EndTurn();
  }
}

void StoreTortureTest::Overwriter(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Client mine(store());
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t key = random() % kHotKeys;
    const auto dice = random() % 100;
    if (dice < 80) {
      mine.Set(HotName(key), MakeValue(key, random(), kHotWords), static_cast<std::uint32_t>(key),
               now() + 1000);
    } else if (dice < 90) {
      ArithmeticOptions options;
      options.delta = 1'111'111'111;
      options.create = true;
      mine.Arithmetic(CounterName(key), options);
    } else if (dice < 95) {
      mine.Touch(HotName(key), now() + 2000);
    } else if (dice < 98) {
      mine.Delete(HotName(key));
    } else {
      // Moves it: another length, and back.
      mine.Set(HotName(key), MakeValue(key, random(), random() % 500), 0, dice == 99 ? now() : 0);
    }
    if (step % 16 == 0) mine.session().EndTurn();
  }
}

// Far more than fits: whole segments are emptied and used again all the time, and the index grows;
// then deletes most, so that it shrinks.
void StoreTortureTest::Filler(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  Client mine(store());
  for (int step = 0; step < kSteps; ++step) {
    const std::uint64_t id = kHotKeys + random() % kColdKeys;
    const bool fill = step / 4000 % 2 == 0;
    if (fill || random() % 8 == 0) {
      const std::size_t words = random() % 400 == 0 ? random() % 4000 : random() % 24;
      mine.Set(ColdName(id), MakeValue(id, random(), words));
    } else {
      mine.Delete(ColdName(id));
    }
    if (step % 16 == 0) mine.session().EndTurn();
    if (step % 10'000 == 0) store().FlushAll(0);
  }
}

void StoreTortureTest::Resizer(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  while (!done_.load()) {
    store().SetMemoryTarget(store().min_memory_limit_bytes() + random() % (6 << 20));
    clock_.Advance(std::chrono::milliseconds(200));
    // Readers come and go.
    { const Client passing(store()); }
    for (int i = 0; i < 50; ++i) std::this_thread::yield();
  }
}

TEST_F(StoreTortureTest, AReaderSeesWholeValuesOfItsKeyOrNothing) {
  std::vector<std::thread> helpers;
  for (const std::uint64_t seed : {1U, 2U}) helpers.emplace_back([this, seed] { Reader(seed); });
  helpers.emplace_back([this] { Resizer(3); });
  std::vector<std::thread> writers;
  for (const std::uint64_t seed : {4U, 5U})
    writers.emplace_back([this, seed] { Overwriter(seed); });
  writers.emplace_back([this] { Filler(6); });
  for (std::thread& thread : writers) thread.join();
  done_ = true;
  for (std::thread& thread : helpers) thread.join();
  EXPECT_EQ(bad_.load(), 0);
  EXPECT_GT(hits_.load(), 0u);
  // All that is left in the end is accounted for.
  for (std::uint64_t key = 0; key < kHotKeys; ++key) {
    client().Delete(HotName(key));
    client().Delete(CounterName(key));
  }
  for (std::uint64_t id = kHotKeys; id < kHotKeys + kColdKeys; ++id) client().Delete(ColdName(id));
  client().session().EndTurn();
  EXPECT_EQ(store().stats().items, 0u);
  EXPECT_EQ(store().stats().item_bytes, 0u);
}

}  // namespace
}  // namespace podcache::store
