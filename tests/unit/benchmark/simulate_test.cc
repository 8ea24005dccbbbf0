// The models against sequences worked out by hand and against theory.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>
#include <numeric>
#include <string_view>
#include <vector>

#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/zipf.h"
#include "tests/benchmark/simulate/cache_model.h"

namespace podcache::bench {
namespace {

constexpr std::uint32_t kItemBytes = 64;

// Records of kItemBytes each, nothing beside them.
ModelPlan PlanFor(std::uint64_t items) {
  ModelPlan plan;
  plan.capacity_bytes = items * kItemBytes;
  plan.overhead_bytes = 0;
  plan.index_bytes = 0;
  return plan;
}

TraceRequest RequestFor(std::uint64_t key) {
  TraceRequest request;
  request.key = key;
  request.key_bytes = 16;
  request.value_bytes = kItemBytes - request.key_bytes;
  return request;
}

// Get, and on a miss set.
bool Ask(CacheModel& model, const TraceRequest& request) {
  std::vector<bool> found;
  model.Get({&request, 1}, found);
  if (!found[0]) model.Change({&request, 1});
  return found[0];
}

// H and m for the keys of the text, one after the other.
std::string Outcomes(CacheModel& model, std::string_view keys) {
  std::string outcomes;
  for (const char key : keys)
    outcomes += Ask(model, RequestFor(static_cast<std::uint64_t>(key))) ? 'H' : 'm';
  return outcomes;
}

TEST(ReferenceModelTest, LruEvictsWhatWasUsedLongestAgo) {
  // With room for three: d evicts b, b evicts c, c evicts a, which was used before d.
  EXPECT_EQ(Outcomes(*NewModel("lru", PlanFor(3)), "abcadbdca"), "mmmHmmHmm");
}

TEST(ReferenceModelTest, FifoEvictsInTheOrderTheyCame) {
  // With room for three: d evicts a although it was used, a evicts b.
  EXPECT_EQ(Outcomes(*NewModel("fifo", PlanFor(3)), "abcadcab"), "mmmHmHmm");
}

TEST(ReferenceModelTest, S3FifoKeepsWhatWasUsedAndRemembersWhatWasNot) {
  // Room for ten, one of them small. a, used, goes to main when it leaves small; b, c … leave as
  // ghosts. A key with a ghost goes to main at once.
  ModelPlan plan = PlanFor(10);
  const auto model = NewModel("s3fifo", plan);
  EXPECT_EQ(Outcomes(*model, "aabcdefghij"), "mHmmmmmmmmm");
  EXPECT_EQ(Outcomes(*model, "k"), "m");  // Full: a moves to main, b is evicted.
  EXPECT_EQ(Outcomes(*model, "a"), "H");
  EXPECT_EQ(Outcomes(*model, "b"), "m");  // c goes, b is in main now.
  EXPECT_EQ(Outcomes(*model, "lmnopqrstu"), "mmmmmmmmmm");
  EXPECT_EQ(Outcomes(*model, "ab"), "HH");
  EXPECT_EQ(model->figures().promoted_items, 1u);
  EXPECT_EQ(model->figures().ghost_hits, 1u);
}

TEST(ReferenceModelTest, ExpiredItemsAreMissed) {
  for (const std::string_view name : {"lru", "fifo", "s3fifo", "segments"}) {
    const auto model = NewModel(name, PlanFor(1 << 16));
    TraceRequest request = RequestFor(1);
    request.ttl_seconds = 10;
    EXPECT_FALSE(Ask(*model, request)) << name;
    request.seconds = 9.5;
    EXPECT_TRUE(Ask(*model, request)) << name;
    request.seconds = 10;
    EXPECT_FALSE(Ask(*model, request)) << name;
  }
}

// Hit ratios under independent draws by rank^-1.
class ZipfTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kKeys = 10'000;
  static constexpr std::uint64_t kRoom = kKeys / 20;
  static constexpr int kWarm = 100'000;
  static constexpr int kMeasured = 400'000;

  static double HitRatio(CacheModel& model, std::uint64_t keys) {
    const Zipf zipf(keys, 1.0);
    Random random(3);
    int hits = 0;
    for (int i = 0; i < kWarm + kMeasured; ++i) {
      const bool hit = Ask(model, RequestFor(zipf.Next(random)));
      if (i >= kWarm) hits += hit;
    }
    return static_cast<double>(hits) / kMeasured;
  }
  // presence(p T) is how probably an item asked for with probability p is there; T is such that
  // kRoom items are expected.
  static double InTheory(const std::function<double(double)>& presence) {
    std::vector<double> p(kKeys);
    for (std::size_t i = 0; i < kKeys; ++i) p[i] = 1.0 / static_cast<double>(i + 1);
    const double sum = std::accumulate(p.begin(), p.end(), 0.0);
    for (double& one : p) one /= sum;
    const auto expect = [&](double t, bool weighed) {
      double total = 0;
      for (const double one : p) total += presence(one * t) * (weighed ? one : 1);
      return total;
    };
    double low = 0;
    double high = 1e9;
    for (int i = 0; i < 100; ++i)
      (expect((low + high) / 2, false) < kRoom ? low : high) = (low + high) / 2;
    return expect(low, true);
  }
};

// Che, Tung, Wang (2002). A published table has 58.8 % for these numbers, and 54.0 % for FIFO.
TEST_F(ZipfTest, LruHitsAsInTheory) {
  const double theory = InTheory([](double x) { return 1 - std::exp(-x); });
  EXPECT_NEAR(theory, 0.588, 0.003);
  EXPECT_NEAR(HitRatio(*NewModel("lru", PlanFor(kRoom)), kKeys), theory, 0.005);
}

// Gelenbe (1973).
TEST_F(ZipfTest, FifoHitsAsInTheory) {
  const double theory = InTheory([](double x) { return x / (1 + x); });
  EXPECT_NEAR(theory, 0.540, 0.003);
  EXPECT_NEAR(HitRatio(*NewModel("fifo", PlanFor(kRoom)), kKeys), theory, 0.005);
}

// The same table has 67.9 %; how its ghosts were sized it does not say, hence the tolerance.
TEST_F(ZipfTest, S3FifoHitsAsPublished) {
  EXPECT_NEAR(HitRatio(*NewModel("s3fifo", PlanFor(kRoom)), kKeys), 0.679, 0.015);
}

// A queue of 400 segments, of which the free ones hold nothing, is a FIFO of items, nearly.
TEST_F(ZipfTest, SegmentsWithoutKeepingAreAFifo) {
  ModelPlan plan = PlanFor(kRoom * 100);
  plan.segment_bytes = static_cast<std::uint32_t>(plan.capacity_bytes / 400);
  const auto segments = NewModel("segments-fifo", plan);
  const auto items = NewModel("fifo", plan);
  EXPECT_NEAR(HitRatio(*segments, kKeys * 100), HitRatio(*items, kKeys * 100), 0.005);
  EXPECT_EQ(segments->figures().copied_bytes, 0u);
}

TEST_F(ZipfTest, S3FifoOverSegmentsIsAsGoodAsOverItems) {
  ModelPlan plan = PlanFor(kRoom * 20);
  plan.segment_bytes = static_cast<std::uint32_t>(plan.capacity_bytes / 256);
  const auto segments = NewModel("segments", plan);
  const auto items = NewModel("s3fifo", plan);
  EXPECT_GT(HitRatio(*segments, kKeys * 20), HitRatio(*items, kKeys * 20) - 0.01);
  EXPECT_LT(static_cast<double>(segments->figures().copied_bytes),
            0.5 * static_cast<double>(segments->figures().set_bytes));
}

// All popular keys are replaced by others: what was popular leaves at once, so that the misses
// after that are hardly more than an LRU's.
TEST_F(ZipfTest, SegmentsFollowAShiftOfPopularity) {
  constexpr std::uint64_t kMany = kKeys * 20;
  ModelPlan plan = PlanFor(kRoom * 20);
  plan.segment_bytes = static_cast<std::uint32_t>(plan.capacity_bytes / 256);
  ModelPlan without = plan;
  without.watch_shifts = false;
  const auto hits_after = [&](CacheModel& model) {
    const Zipf zipf(kMany, 1.0);
    Random random(5);
    int hits = 0;
    for (int i = 0; i < 2 * kMeasured; ++i) {
      const std::uint64_t shift = i < kMeasured ? 0 : kMany;
      hits += Ask(model, RequestFor(zipf.Next(random) + shift)) && shift != 0;
    }
    return hits;
  };
  const auto model = NewModel("segments", plan);
  const int hits = hits_after(*model);
  EXPECT_EQ(model->figures().shifts, 1u);
  EXPECT_GT(hits, hits_after(*NewModel("segments", without)) * 1.02);
  EXPECT_GT(hits, hits_after(*NewModel("lru", plan)) * 0.99);
}

}  // namespace
}  // namespace podcache::bench
