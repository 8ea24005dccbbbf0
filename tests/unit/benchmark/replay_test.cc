#include "tests/benchmark/load/replay.h"

#include <gtest/gtest.h>

#include <list>
#include <string>
#include <unordered_map>
#include <vector>

#include "tests/benchmark/load/random.h"

namespace podcache::bench {
namespace {

// As many items as it has room for; the least recently used goes.
class LruCache final : public ReplayCache {
 public:
  explicit LruCache(std::size_t capacity) : capacity_(capacity) {}

  void Get(std::span<const TraceRequest> requests, std::vector<bool>& found) override {
    found.clear();
    for (const TraceRequest& request : requests) {
      const auto at = places_.find(request.key);
      found.push_back(at != places_.end());
      if (at != places_.end()) order_.splice(order_.begin(), order_, at->second);
    }
  }
  void Change(std::span<const TraceRequest> requests) override {
    for (const TraceRequest& request : requests) {
      if (const auto at = places_.find(request.key); at != places_.end()) {
        order_.erase(at->second);
        places_.erase(at);
      }
      if (request.verb == TraceVerb::kDelete) continue;
      ++sets;
      order_.push_front(request.key);
      places_[request.key] = order_.begin();
      if (order_.size() <= capacity_) continue;
      places_.erase(order_.back());
      order_.pop_back();
    }
  }

  std::uint64_t sets = 0;

 private:
  const std::size_t capacity_;
  std::list<std::uint64_t> order_;
  std::unordered_map<std::uint64_t, std::list<std::uint64_t>::iterator> places_;
};

class ListTrace final : public Trace {
 public:
  explicit ListTrace(std::vector<TraceRequest> requests) : requests_(std::move(requests)) {}
  bool Next(TraceRequest& request) override {
    if (at_ == requests_.size()) return false;
    request = requests_[at_++];
    return true;
  }

 private:
  const std::vector<TraceRequest> requests_;
  std::size_t at_ = 0;
};

std::vector<TraceRequest> Loop(std::uint64_t keys, int rounds) {
  std::vector<TraceRequest> requests;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t key = 0; key < keys; ++key) requests.push_back({.key = key});
  }
  return requests;
}

TEST(Replay, ALoopThatFitsMissesOnce) {
  ListTrace trace(Loop(100, 10));
  LruCache cache(100);
  const ReplayResult result = Replay(trace, cache, {});
  EXPECT_EQ(result.gets, 1000U);
  EXPECT_EQ(result.misses, 100U);
  EXPECT_EQ(cache.sets, 100U);
}

TEST(Replay, ALoopLargerThanAnLruAlwaysMisses) {
  ListTrace trace(Loop(101, 10));
  LruCache cache(100);
  const ReplayResult result = Replay(trace, cache, {.window = 1});
  EXPECT_EQ(result.misses, 1010U);
}

TEST(Replay, AKeySeesItsRequestsInOrderWhateverTheWindow) {
  for (const std::size_t window : {1U, 2U, 3U, 100U}) {
    ListTrace trace({{.key = 1},  // A miss.
                     {.key = 1},  // A hit.
                     {.key = 1, .verb = TraceVerb::kDelete},
                     {.key = 1},  // A miss.
                     {.key = 2, .verb = TraceVerb::kSet},
                     {.key = 2}});  // A hit.
    LruCache cache(10);
    const ReplayResult result = Replay(trace, cache, {.window = window});
    EXPECT_EQ(result.requests, 6U);
    EXPECT_EQ(result.gets, 4U);
    EXPECT_EQ(result.misses, 2U) << window;
    EXPECT_EQ(cache.sets, 3U);
  }
}

TEST(Replay, CountsBytesAndSkipsTheBeginning) {
  std::vector<TraceRequest> requests = Loop(10, 2);
  for (TraceRequest& request : requests) request.value_bytes = 100;
  requests.push_back({.key = 99, .value_bytes = 1000});
  ListTrace trace(requests);
  LruCache cache(100);
  const ReplayResult result =
      Replay(trace, cache, {.window = 1, .skip = 10, .max_value_bytes = 500});
  EXPECT_EQ(result.gets, 11U);
  EXPECT_EQ(result.misses, 1U);
  EXPECT_EQ(result.bytes, 10 * 100 + 500U);
  EXPECT_EQ(result.missed_bytes, 500U);
}

TEST(Replay, EndsAtItsLimit) {
  ListTrace trace(Loop(10, 10));
  LruCache cache(100);
  EXPECT_EQ(Replay(trace, cache, {.limit = 25}).requests, 25U);
}

// Exact: with independent requests for n equal keys and room for c, every policy hits c / n.
TEST(Replay, EqualKeysHitByTheShareThatFits) {
  std::vector<TraceRequest> requests;
  Random random(1);
  for (int i = 0; i < 200'000; ++i) requests.push_back({.key = random.Below(1000)});
  ListTrace trace(std::move(requests));
  LruCache cache(300);
  const ReplayResult result = Replay(trace, cache, {.window = 1, .skip = 10'000});
  EXPECT_NEAR(static_cast<double>(result.misses) / static_cast<double>(result.gets), 0.7, 0.005);
}

}  // namespace
}  // namespace podcache::bench
