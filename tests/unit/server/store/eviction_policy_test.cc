// One suite for all eviction policies, on real segments.
#include "server/store/eviction_policy.h"

#include <gmock/gmock.h>

#include <cmath>
#include <random>
#include <vector>

#include "server/store/reclaimer.h"
#include "tests/unit/server/store/table_fixture.h"

namespace podcache::store {
namespace {

constexpr std::size_t kSegments = 32;

class EvictionPolicyTest : public ::testing::TestWithParam<EvictionKind> {
 protected:
  static std::string KeyOf(int i) { return "key" + std::to_string(i); }
  static std::string ValueOf(int i) { return std::string(200, static_cast<char>('a' + i % 26)); }
  // Inserts until there is no free segment; returns how many went in.
  int Fill() {
    int n = 0;
    while (parts.Insert(KeyOf(n), ValueOf(n))) ++n;
    return n;
  }
  bool Reclaim(ReclaimReason reason = ReclaimReason::kCapacity) {
    parts.writer.Release();
    const bool done = reclaimer.ReclaimOne(reason, TableParts::kNow);
    parts.writer.Acquire();
    return done;
  }

  TableParts parts{kSegments};
  const EvictionPolicy policy{GetParam()};
  Reclaimer reclaimer{parts.table, parts.hasher, policy, true, nullptr};
};

std::string NameOf(const ::testing::TestParamInfo<EvictionKind>& parameter) {
  switch (parameter.param) {
    case EvictionKind::kS3Fifo:
      return "S3Fifo";
    case EvictionKind::kSecondChance:
      return "SecondChance";
    case EvictionKind::kFifo:
      return "Fifo";
  }
  return {};
}
INSTANTIATE_TEST_SUITE_P(Policies, EvictionPolicyTest,
                         ::testing::Values(EvictionKind::kS3Fifo, EvictionKind::kSecondChance,
                                           EvictionKind::kFifo),
                         NameOf);

TEST_P(EvictionPolicyTest, UnusedItemsGoOldestFirst) {
  const int n = Fill();
  ASSERT_TRUE(Reclaim());
  const auto gone = static_cast<int>(reclaimer.counters().EvictedItems());
  ASSERT_GT(gone, 0);
  EXPECT_EQ(parts.items(), static_cast<std::uint64_t>(n - gone));
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(parts.Use(KeyOf(i)).has_value(), i >= gone) << i;
  }
}

TEST_P(EvictionPolicyTest, AUsedItemSurvivesIfThePolicySaysSo) {
  Fill();
  // The oldest segment surely holds the first ten.
  for (int i = 0; i < 10; i += 2) ASSERT_TRUE(parts.Use(KeyOf(i)));
  ASSERT_TRUE(Reclaim());
  for (int i = 0; i < 10; ++i) {
    const auto value = parts.Use(KeyOf(i));
    EXPECT_EQ(value.has_value(), i % 2 == 0 && policy.Keeps(1)) << i;
    if (value) {
      EXPECT_EQ(*value, ValueOf(i));
    }
  }
}

TEST_P(EvictionPolicyTest, AlwaysMakesRoom) {
  // Everything is used all the time: room must come about nevertheless.
  int n = Fill();
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < n; ++i) parts.Use(KeyOf(i));
    for (int tries = 0; !parts.Insert(KeyOf(n), ValueOf(n)); ++tries) {
      ASSERT_LT(tries, 8);
      ASSERT_TRUE(Reclaim(ReclaimReason::kUrgent));
    }
    ++n;
  }
}

// Of the segments before the run of used items nothing is kept, so the run, as long as four of the
// 32 segments, is kept whole: it needs a quarter of that beyond its own share, and a sixteenth of
// the log (two segments) may be saved up.
TEST_P(EvictionPolicyTest, ARunOfUsedItemsIsKeptWhole) {
  const int n = Fill();
  const int first = n / 4;
  const int last = first + n / 8;
  for (int i = first; i < last; ++i) ASSERT_TRUE(parts.Use(KeyOf(i)));
  for (std::size_t pass = 0; pass < kSegments / 2; ++pass) ASSERT_TRUE(Reclaim());
  int kept = 0;
  for (int i = first; i < last; ++i) kept += parts.Use(KeyOf(i)).has_value();
  EXPECT_EQ(kept, policy.Keeps(1) ? last - first : 0);
}

// Everything is used: what was saved up is gone soon, and room comes about nevertheless.
TEST_P(EvictionPolicyTest, ReclaimingAheadMakesRoomToo) {
  int n = Fill();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < n; ++i) parts.Use(KeyOf(i));
    std::size_t passes = 0;
    for (; !parts.Insert(KeyOf(n), ValueOf(n)); ++passes) {
      ASSERT_LE(passes, kSegments);
      ASSERT_TRUE(Reclaim());
    }
    ++n;
  }
}

TEST_P(EvictionPolicyTest, CompactionKeepsWhatLives) {
  const int n = Fill();
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 0) parts.Remove(KeyOf(i));
  }
  // Two thirds are dead: the first passes compact and evict nothing.
  for (int pass = 0; pass < 20; ++pass) ASSERT_TRUE(Reclaim());
  EXPECT_EQ(reclaimer.counters().EvictedItems(), 0u);
  EXPECT_GT(parts.pool.Available(), 8);
  for (int i = 0; i < n; i += 3) {
    ASSERT_EQ(parts.Use(KeyOf(i)), ValueOf(i)) << i;
  }
}

// What was stored last is not evicted first because it was moved together with what is old: the
// deadest segments, at the old end, are compacted first, and what lives in the others fills up
// their place.
TEST_P(EvictionPolicyTest, CompactionKeepsTheOrderOfAge) {
  const int n = Fill();
  const int segment_items = n / static_cast<int>(kSegments);
  const auto thin = [&](int first, int last, int keep) {
    for (int i = first; i < last; ++i) {
      if (i % keep != 0) parts.Remove(KeyOf(i));
    }
  };
  const int recent = n - 6 * segment_items;
  const int newest = n - 2 * segment_items;
  thin(0, 2 * segment_items, 6);
  thin(recent, newest, 3);
  while (reclaimer.counters().EvictedItems() == 0) ASSERT_TRUE(Reclaim());
  EXPECT_GE(reclaimer.counters().compacted_segments.load(), 4u);
  for (int i = recent; i < newest; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(parts.Use(KeyOf(i))) << i;
    }
  }
}

TEST_P(EvictionPolicyTest, ExpiredItemsAreNeitherKeptNorCountedAsEvicted) {
  int n = 0;
  while (parts.Insert(KeyOf(n), ValueOf(n), TableParts::kNow + 1)) {
    parts.Use(KeyOf(n));
    ++n;
  }
  parts.writer.Release();
  ASSERT_TRUE(reclaimer.ReclaimOne(ReclaimReason::kCapacity, TableParts::kNow + 1));
  parts.writer.Acquire();
  EXPECT_EQ(reclaimer.counters().EvictedItems(), 0u);
  EXPECT_LT(parts.items(), static_cast<std::uint64_t>(n));
}

// Twice as many new items as there is room for, none used: what was used before stays.
TEST_P(EvictionPolicyTest, AScanDoesNotPushOutWhatIsUsed) {
  const int n = Fill();
  // A quarter of all; with two lines this is the main one from now on.
  const int used = n / 4;
  for (int i = 0; i < used; ++i) ASSERT_TRUE(parts.Use(KeyOf(i)));
  for (int i = n; i < 3 * n; ++i) {
    while (!parts.Insert(KeyOf(i), ValueOf(i))) ASSERT_TRUE(Reclaim());
  }
  int kept = 0;
  for (int i = 0; i < used; ++i) kept += parts.Use(KeyOf(i)).has_value();
  EXPECT_EQ(kept, GetParam() == EvictionKind::kS3Fifo ? used : 0);
}

// What comes back soon after it was evicted outlives what is new.
TEST_P(EvictionPolicyTest, AGhostIsRemembered) {
  Fill();
  ASSERT_TRUE(Reclaim());
  const auto gone = static_cast<int>(reclaimer.counters().EvictedItems());
  constexpr int kAgain = 20;
  ASSERT_GT(gone, kAgain);
  for (int i = 0; i < kAgain; ++i) ASSERT_TRUE(parts.Insert(KeyOf(i), ValueOf(i)));
  for (int i = 1'000'000; reclaimer.counters().EvictedItems() < 40U * gone; ++i) {
    while (!parts.Insert(KeyOf(i), ValueOf(i))) ASSERT_TRUE(Reclaim());
  }
  int kept = 0;
  for (int i = 0; i < kAgain; ++i) kept += parts.Use(KeyOf(i)).has_value();
  // A bucket remembers four; in a few more will have been evicted.
  if (policy.LeavesGhost(Line::kSmall)) {
    EXPECT_GE(kept, kAgain / 2);
  } else {
    EXPECT_EQ(kept, 0);
  }
}

// Independent draws from a Zipf distribution.
class Zipf {
 public:
  explicit Zipf(int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) cumulative_.push_back(sum += 1.0 / (i + 1));
    for (double& c : cumulative_) c /= sum;
  }
  int Draw(std::mt19937_64& random) const {
    const double u = std::uniform_real_distribution<double>(0, 1)(random);
    return static_cast<int>(std::lower_bound(cumulative_.begin(), cumulative_.end(), u) -
                            cumulative_.begin());
  }
  double Probability(std::size_t i) const {
    return cumulative_[i] - (i == 0 ? 0 : cumulative_[i - 1]);
  }
  std::size_t size() const { return cumulative_.size(); }
  double Best(std::size_t kept) const { return cumulative_[kept - 1]; }

 private:
  std::vector<double> cumulative_;
};

// As an application uses a cache: what is not there is stored. Returns how many were there.
class EvictionPolicyZipfTest : public EvictionPolicyTest {
 protected:
  int Ask(int requests, int first_key) {
    int hits = 0;
    for (int i = 0; i < requests; ++i) {
      const std::string key = KeyOf(first_key + zipf.Draw(random));
      const bool hit = parts.Use(key).has_value();
      while (!hit && !parts.Insert(key, std::string(200, 'v'))) EXPECT_TRUE(Reclaim());
      hits += hit;
    }
    return hits;
  }
  int Held(int first_key) {
    int held = 0;
    for (int i = 0; i < kKeys; ++i) held += parts.Use(KeyOf(first_key + i)).has_value();
    return held;
  }

  static constexpr int kKeys = 100'000;
  const Zipf zipf{kKeys};
  std::mt19937_64 random{7};
};
INSTANTIATE_TEST_SUITE_P(Policies, EvictionPolicyZipfTest,
                         ::testing::Values(EvictionKind::kS3Fifo, EvictionKind::kSecondChance,
                                           EvictionKind::kFifo),
                         NameOf);

// All popular keys are replaced by others: after as many requests as would fill a cache two and a
// half times, hardly any of the old ones is left.
TEST_P(EvictionPolicyZipfTest, WhatIsNotPopularAnyMoreGoesSoon) {
  Ask(400'000, 0);
  EXPECT_EQ(reclaimer.counters().shifts.load(), 0u);
  const auto room = static_cast<int>(parts.items());
  const int later = Ask(5 * room, kKeys);
  std::printf("hit ratio %.3f after the shift\n", static_cast<double>(later) / (5 * room));
  const int held = Held(0);
  EXPECT_LT(held, room / 50) << room;
  EXPECT_EQ(reclaimer.counters().shifts.load(), GetParam() == EvictionKind::kS3Fifo ? 1u : 0u);
  EXPECT_EQ(reclaimer.counters().refuted_shifts.load(), 0u);
}

// What a policy must reach with room for `kept` items: one that is asked for with probability p is
// present with probability presence(p T), where T makes the expected number of items equal `kept`.
template <class Presence>
double HitRatioInTheory(const Zipf& zipf, double kept, Presence&& presence) {
  const auto sums = [&](double t) {
    double items = 0;
    double hits = 0;
    for (std::size_t i = 0; i < zipf.size(); ++i) {
      const double p = zipf.Probability(i);
      items += presence(p * t);
      hits += p * presence(p * t);
    }
    return std::pair(items, hits);
  };
  double low = 0;
  double high = 1e9;
  for (int i = 0; i < 100; ++i)
    (sums((low + high) / 2).first < kept ? low : high) = (low + high) / 2;
  return sums(low).second;
}
// Gelenbe 1973; exact for large caches.
double FifoHitRatio(const Zipf& zipf, double kept) {
  return HitRatioInTheory(zipf, kept, [](double x) { return x / (1 + x); });
}
// Che, Tung, Wang 2002.
double LruHitRatio(const Zipf& zipf, double kept) {
  return HitRatioInTheory(zipf, kept, [](double x) { return 1 - std::exp(-x); });
}

TEST_P(EvictionPolicyZipfTest, HitRatio) {
  constexpr int kWarm = 300'000;
  constexpr int kMeasured = 300'000;
  constexpr int kStep = 1000;
  Ask(kWarm, 0);
  int hits = 0;
  double items = 0;
  for (int i = 0; i < kMeasured; i += kStep) {
    items += static_cast<double>(parts.items()) * kStep / kMeasured;
    hits += Ask(kStep, 0);
  }
  const double ratio = static_cast<double>(hits) / kMeasured;
  const double fifo = FifoHitRatio(zipf, items);
  const double lru = LruHitRatio(zipf, items);
  const double best = zipf.Best(static_cast<std::size_t>(items));
  std::printf("hit ratio %.3f with room for %.0f items; in theory FIFO %.3f, LRU %.3f, best %.3f\n",
              ratio, items, fifo, lru, best);
  EXPECT_LT(ratio, best + 0.01);
  EXPECT_EQ(reclaimer.counters().shifts.load(), 0u);
  switch (GetParam()) {
    case EvictionKind::kS3Fifo:
      EXPECT_GT(ratio, lru + 0.02);
      break;
    case EvictionKind::kSecondChance:
      EXPECT_GT(ratio, fifo + 0.03);
      break;
    case EvictionKind::kFifo:
      EXPECT_NEAR(ratio, fifo, 0.01);
      break;
  }
}

}  // namespace
}  // namespace podcache::store
