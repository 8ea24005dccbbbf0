// The memory contract: one budget, resident memory within it, live change of the limit.
#include <gmock/gmock.h>
#include <sys/mman.h>

#include <cstdio>
#include <fstream>
#include <thread>

#include "tests/unit/server/store/store_fixture.h"

namespace podcache::store {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kCountsResident = false;  // Shadow memory is resident too.
#else
constexpr bool kCountsResident = true;
#endif

std::uint64_t ResidentBytes() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    if (word != "VmRSS:") continue;
    std::uint64_t kib = 0;
    status >> kib;
    return kib * 1024;
  }
  return 0;
}

std::string KeyOf(std::uint64_t i, std::size_t bytes) {
  std::string key = "key-" + std::to_string(i);
  key.resize(std::max(bytes, key.size()), '_');
  return key;
}

class StoreMemoryTest : public StoreTest {
 protected:
  static std::uint64_t Used(const StoreStats& stats) {
    return stats.segment_bytes + stats.index_bytes + stats.external_bytes;
  }
};

TEST_F(StoreMemoryTest, GrowKeepsEverything) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 64 << 20;
  Open(options);
  constexpr int kItems = 100'000;
  const auto value = [](int i) {
    return std::string(100 + static_cast<std::size_t>(i) % 201, static_cast<char>('a' + i % 26));
  };
  for (int i = 0; i < kItems; ++i)
    ASSERT_EQ(client().Set(KeyOf(static_cast<std::uint64_t>(i), 24), value(i)),
              StoreStatus::kStored);
  ASSERT_TRUE(store().SetMemoryTarget(256 << 20));
  EXPECT_EQ(store().stats().memory_limit_bytes, 256u << 20);
  Maintain();
  for (int i = 0; i < kItems; ++i)
    ASSERT_THAT(client().Get(KeyOf(static_cast<std::uint64_t>(i), 24)),
                ::testing::Optional(value(i)))
        << i;
  EXPECT_EQ(store().stats().evicted_items, 0u);
}

TEST_F(StoreMemoryTest, ShrinkReachesItsTargetAndKeepsWhatIsUsed) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 64 << 20;
  Open(options);
  const std::string value(200, 'v');
  std::uint64_t n = 0;
  while (n % 1024 != 0 || n == 0 || store().stats().evicted_items == 0) {
    ASSERT_EQ(client().Set(KeyOf(n++, 24), value), StoreStatus::kStored);
  }
  std::vector<std::uint64_t> used;
  for (std::uint64_t i = n - n / 5; i < n; ++i) {
    if (client().Get(KeyOf(i, 24))) used.push_back(i);
  }
  EXPECT_EQ(used.size(), n / 5);
  client().session().EndTurn();
  ASSERT_TRUE(store().SetMemoryTarget(24 << 20));
  EXPECT_TRUE(store().resize_state().in_progress);
  EXPECT_GT(store().stats().memory_limit_bytes, 24u << 20);
  Maintain();
  const StoreStats stats = store().stats();
  EXPECT_EQ(stats.memory_limit_bytes, 24u << 20);
  EXPECT_LE(Used(stats), 24u << 20);
  EXPECT_FALSE(store().resize_state().in_progress);
  EXPECT_GT(store().resize_state().evicted_items, 0u);
  for (const std::uint64_t i : used) ASSERT_TRUE(client().Get(KeyOf(i, 24))) << i;
}

struct FillCase {
  std::uint64_t limit_mib;
  std::size_t key_bytes;
  std::size_t value_bytes;
  double max_overhead;
};
class FillTest : public StoreMemoryTest, public ::testing::WithParamInterface<FillCase> {};

TEST_P(FillTest, ResidentMemoryStaysWithinTheBudget) {
  const FillCase& c = GetParam();
  client_.reset();
  store_.reset();
  const std::uint64_t before = ResidentBytes();
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = c.limit_mib << 20;
  options.background_maintenance = true;
  Open(options);
  const std::string value(c.value_bytes, 'v');
  const std::uint64_t sets = (c.limit_mib << 20) / (c.key_bytes + c.value_bytes) * 3 / 2;
  for (std::uint64_t i = 0; i < sets; ++i) {
    ASSERT_EQ(client().Set(KeyOf(i, c.key_bytes), value), StoreStatus::kStored);
    if (i % 64 == 0) client().session().EndTurn();
  }
  const StoreStats stats = store().stats();
  const std::uint64_t grown = ResidentBytes() - before;
  EXPECT_GT(stats.evicted_items, 0u);
  EXPECT_LE(Used(stats), (c.limit_mib << 20) * 101 / 100);
  const double per_item = static_cast<double>(grown) / static_cast<double>(stats.items) -
                          static_cast<double>(c.key_bytes + c.value_bytes);
  std::printf("limit %lu MiB, %zu+%zu: items %lu, resident +%.1f MiB, overhead %.1f B per item\n",
              c.limit_mib, c.key_bytes, c.value_bytes, stats.items,
              static_cast<double>(grown) / (1 << 20), per_item);
  if (!kCountsResident) return;
  EXPECT_LE(grown, (c.limit_mib << 20) * 102 / 100 + (1 << 20));
  EXPECT_LE(per_item, c.max_overhead);
}

INSTANTIATE_TEST_SUITE_P(Sizes, FillTest,
                         ::testing::Values(FillCase{64, 20, 30, 30}, FillCase{64, 20, 128, 45},
                                           FillCase{256, 20, 128, 45}, FillCase{256, 24, 600, 80},
                                           FillCase{8, 20, 128, 60}));

// A steady mix of times to live, nobody reads: what has expired and is still held, in per cent of
// all, each second just before the sweep.
TEST_F(StoreMemoryTest, WhatHasExpiredIsHardlyHeld) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 64 << 20;
  Open(options);
  constexpr std::uint64_t kTtls[] = {10, 60, 300, 3600};
  constexpr std::uint64_t kEach = 50;  // A second.
  constexpr std::uint64_t kSeconds = 900;
  std::uint64_t next = 0;
  for (std::uint64_t second = 1; second <= kSeconds; ++second) {
    std::uint64_t live = 0;
    for (const std::uint64_t ttl : kTtls) {
      const std::int64_t exptime = now() + static_cast<std::int64_t>(ttl);
      for (std::uint64_t i = 0; i < kEach; ++i)
        ASSERT_EQ(client().Set(KeyOf(next++, 24), std::string(200, 'v'), 0, exptime),
                  StoreStatus::kStored);
      live += kEach * std::min(second, ttl - 1);
    }
    clock_.Advance(std::chrono::seconds(1));
    if (second > 400) {
      const std::uint64_t held = store().stats().items;
      ASSERT_GE(held, live);
      ASSERT_LE((held - live) * 100, held * 2) << second;
    }
    Maintain();
  }
  EXPECT_EQ(store().stats().evicted_items, 0U);
  EXPECT_GT(store().stats().expired_items, kEach * 3 * 500);
}

// A full cache of items that live from half a minute to half an hour, or for ever; nobody reads.
// What expires together lies together: segments die whole, and little is moved out of holes.
TEST_F(StoreMemoryTest, WhatExpiresCostsFewCopies) {
  StoreOptions options = SmallOptions();
  options.memory_limit_bytes = 16 << 20;
  Open(options);
  struct Kind {
    std::int64_t ttl;  // 0: for ever.
    int each_second;
  };
  constexpr Kind kKinds[] = {{30, 300}, {200, 100}, {2000, 40}, {0, 40}};
  std::uint64_t next = 0;
  StoreStats before;
  for (int second = 0; second < 600; ++second) {
    if (second == 300) before = store().stats();
    for (const Kind& kind : kKinds) {
      for (int i = 0; i < kind.each_second; ++i) {
        const std::int64_t exptime = kind.ttl == 0 ? 0 : now() + kind.ttl;
        ASSERT_EQ(client().Set(KeyOf(next++, 24), std::string(200, 'v'), 0, exptime),
                  StoreStatus::kStored);
      }
    }
    clock_.Advance(std::chrono::seconds(1));
    Maintain();
  }
  const StoreStats stats = store().stats();
  EXPECT_GT(stats.evicted_items, before.evicted_items);
  const auto stored = static_cast<double>(stats.stored_bytes - before.stored_bytes);
  const auto copied = static_cast<double>(stats.copied_bytes - before.copied_bytes);
  std::printf("copied %.2f of what was stored; %.1f %% dead, %.1f %% slack, %zu items\n",
              copied / stored, 100.0 * static_cast<double>(stats.dead_bytes) / (16 << 20),
              100.0 * static_cast<double>(stats.slack_bytes) / (16 << 20), stats.items);
  EXPECT_LT(copied, 0.4 * stored);
}

}  // namespace
}  // namespace podcache::store
