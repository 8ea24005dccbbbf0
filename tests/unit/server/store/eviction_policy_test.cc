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

template <class Policy>
class EvictionPolicyTest : public ::testing::Test {
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
  Reclaimer<Policy> reclaimer{parts.table, parts.hasher, true, nullptr};
};

using Policies = ::testing::Types<FifoPolicy, SecondChancePolicy>;
TYPED_TEST_SUITE(EvictionPolicyTest, Policies);

TYPED_TEST(EvictionPolicyTest, UnusedItemsGoOldestFirst) {
  const int n = this->Fill();
  ASSERT_TRUE(this->Reclaim());
  const auto gone = static_cast<int>(this->reclaimer.counters().evicted_items.load());
  ASSERT_GT(gone, 0);
  EXPECT_EQ(this->parts.items(), static_cast<std::uint64_t>(n - gone));
  for (int i = 0; i < n; ++i) {
    ASSERT_EQ(this->parts.Use(this->KeyOf(i)).has_value(), i >= gone) << i;
  }
}

TYPED_TEST(EvictionPolicyTest, AUsedItemSurvivesIfThePolicySaysSo) {
  this->Fill();
  // The oldest segment surely holds the first ten.
  for (int i = 0; i < 10; i += 2) ASSERT_TRUE(this->parts.Use(this->KeyOf(i)));
  ASSERT_TRUE(this->Reclaim());
  for (int i = 0; i < 10; ++i) {
    const auto value = this->parts.Use(this->KeyOf(i));
    EXPECT_EQ(value.has_value(), i % 2 == 0 && TypeParam::Keep(1)) << i;
    if (value) {
      EXPECT_EQ(*value, this->ValueOf(i));
    }
  }
}

TYPED_TEST(EvictionPolicyTest, AlwaysMakesRoom) {
  // Everything is used all the time: room must come about nevertheless.
  int n = this->Fill();
  for (int round = 0; round < 200; ++round) {
    for (int i = 0; i < n; ++i) this->parts.Use(this->KeyOf(i));
    for (int tries = 0; !this->parts.Insert(this->KeyOf(n), this->ValueOf(n)); ++tries) {
      ASSERT_LT(tries, 8);
      ASSERT_TRUE(this->Reclaim(ReclaimReason::kUrgent));
    }
    ++n;
  }
}

// Of the segments before the run of used items nothing is kept, so the run, as long as four of the
// 32 segments, is kept whole: it needs a quarter of that beyond its own share, and a sixteenth of
// the log (two segments) may be saved up.
TYPED_TEST(EvictionPolicyTest, ARunOfUsedItemsIsKeptWhole) {
  const int n = this->Fill();
  const int first = n / 4;
  const int last = first + n / 8;
  for (int i = first; i < last; ++i) ASSERT_TRUE(this->parts.Use(this->KeyOf(i)));
  for (std::size_t pass = 0; pass < kSegments / 2; ++pass) ASSERT_TRUE(this->Reclaim());
  int kept = 0;
  for (int i = first; i < last; ++i) kept += this->parts.Use(this->KeyOf(i)).has_value();
  EXPECT_EQ(kept, TypeParam::Keep(1) ? last - first : 0);
}

// Everything is used: what was saved up is gone soon, and room comes about nevertheless.
TYPED_TEST(EvictionPolicyTest, ReclaimingAheadMakesRoomToo) {
  int n = this->Fill();
  for (int round = 0; round < 50; ++round) {
    for (int i = 0; i < n; ++i) this->parts.Use(this->KeyOf(i));
    std::size_t passes = 0;
    for (; !this->parts.Insert(this->KeyOf(n), this->ValueOf(n)); ++passes) {
      ASSERT_LE(passes, kSegments);
      ASSERT_TRUE(this->Reclaim());
    }
    ++n;
  }
}

TYPED_TEST(EvictionPolicyTest, CompactionKeepsWhatLives) {
  const int n = this->Fill();
  for (int i = 0; i < n; ++i) {
    if (i % 3 != 0) this->parts.Remove(this->KeyOf(i));
  }
  // Two thirds are dead: the first passes compact and evict nothing.
  for (int pass = 0; pass < 20; ++pass) ASSERT_TRUE(this->Reclaim());
  EXPECT_EQ(this->reclaimer.counters().evicted_items.load(), 0u);
  EXPECT_GT(this->parts.pool.Available(), 8);
  for (int i = 0; i < n; i += 3) {
    ASSERT_EQ(this->parts.Use(this->KeyOf(i)), this->ValueOf(i)) << i;
  }
}

// What was stored last is not evicted first because it was moved together with what is old: the
// deadest segments, at the old end, are compacted first, and what lives in the others fills up
// their place.
TYPED_TEST(EvictionPolicyTest, CompactionKeepsTheOrderOfAge) {
  const int n = this->Fill();
  const int segment_items = n / static_cast<int>(kSegments);
  const auto thin = [&](int first, int last, int keep) {
    for (int i = first; i < last; ++i) {
      if (i % keep != 0) this->parts.Remove(this->KeyOf(i));
    }
  };
  const int recent = n - 6 * segment_items;
  const int newest = n - 2 * segment_items;
  thin(0, 2 * segment_items, 6);
  thin(recent, newest, 3);
  while (this->reclaimer.counters().evicted_items.load() == 0) ASSERT_TRUE(this->Reclaim());
  EXPECT_GE(this->reclaimer.counters().compacted_segments.load(), 4u);
  for (int i = recent; i < newest; ++i) {
    if (i % 3 == 0) {
      ASSERT_TRUE(this->parts.Use(this->KeyOf(i))) << i;
    }
  }
}

TYPED_TEST(EvictionPolicyTest, ExpiredItemsAreNeitherKeptNorCountedAsEvicted) {
  int n = 0;
  while (this->parts.Insert(this->KeyOf(n), this->ValueOf(n), TableParts::kNow + 1)) {
    this->parts.Use(this->KeyOf(n));
    ++n;
  }
  this->parts.writer.Release();
  ASSERT_TRUE(this->reclaimer.ReclaimOne(ReclaimReason::kCapacity, TableParts::kNow + 1));
  this->parts.writer.Acquire();
  EXPECT_EQ(this->reclaimer.counters().evicted_items.load(), 0u);
  EXPECT_LT(this->parts.items(), static_cast<std::uint64_t>(n));
}

// Hit ratios on independent draws from a Zipf distribution.
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

// What FIFO must reach with room for `kept` items: each is present with probability p T / (1 + p
// T), where T makes the expected number of items equal `kept` (Gelenbe 1973; exact for large
// caches).
double FifoHitRatio(const Zipf& zipf, double kept) {
  const auto sums = [&](double t) {
    double items = 0;
    double hits = 0;
    for (std::size_t i = 0; i < zipf.size(); ++i) {
      const double p = zipf.Probability(i);
      items += p * t / (1 + p * t);
      hits += p * p * t / (1 + p * t);
    }
    return std::pair(items, hits);
  };
  double low = 0;
  double high = 1e9;
  for (int i = 0; i < 100; ++i)
    (sums((low + high) / 2).first < kept ? low : high) = (low + high) / 2;
  return sums(low).second;
}

TYPED_TEST(EvictionPolicyTest, HitRatioOnZipf) {
  const Zipf zipf(100'000);
  std::mt19937_64 random(7);
  int hits = 0;
  double items = 0;
  constexpr int kWarm = 300'000;
  constexpr int kMeasured = 300'000;
  for (int i = 0; i < kWarm + kMeasured; ++i) {
    const std::string key = this->KeyOf(zipf.Draw(random));
    const bool hit = this->parts.Use(key).has_value();
    while (!hit && !this->parts.Insert(key, std::string(200, 'v'))) ASSERT_TRUE(this->Reclaim());
    if (i < kWarm) continue;
    hits += hit;
    if (i % 1000 == 0) items += static_cast<double>(this->parts.items()) * 1000 / kMeasured;
  }
  const double ratio = static_cast<double>(hits) / kMeasured;
  const double fifo = FifoHitRatio(zipf, items);
  std::printf("hit ratio %.3f with room for %.0f items; FIFO in theory %.3f, best possible %.3f\n",
              ratio, items, fifo, zipf.Best(static_cast<std::size_t>(items)));
  EXPECT_LT(ratio, zipf.Best(static_cast<std::size_t>(items)) + 0.01);
  if (std::is_same_v<TypeParam, FifoPolicy>) {
    EXPECT_NEAR(ratio, fifo, 0.01);
  } else {
    EXPECT_GT(ratio, fifo + 0.03);
  }
}

}  // namespace
}  // namespace podcache::store
