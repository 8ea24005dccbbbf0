#include "tests/benchmark/load/request_source.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace podcache::bench {
namespace {

std::string TextOf(const Batch& batch) { return {batch.bytes.data(), batch.bytes.size()}; }

TEST(EveryItemSource, EachOnceAndTheRestOneByOne) {
  const Items items(16, 3);
  EveryItemSource source(items, {Verb::kGet, 2}, 2, 3, 10, 15);
  Batch batch;
  ASSERT_TRUE(source.Next(batch));
  EXPECT_EQ(TextOf(batch),
            "get bench-0000000010 bench-0000000011\r\nget bench-0000000012 bench-0000000013\r\n");
  EXPECT_EQ(batch.requests.size(), 2U);
  ASSERT_TRUE(source.Next(batch));
  EXPECT_EQ(TextOf(batch), "get bench-0000000014\r\n");
  EXPECT_FALSE(source.Next(batch));
}

TEST(EveryItemSource, SetsCarryTheirValues) {
  const Items items(16, 6);
  EveryItemSource source(items, {Verb::kSet, 1}, 1, 6, 7, 8);
  Batch batch;
  ASSERT_TRUE(source.Next(batch));
  const std::string text = TextOf(batch);
  const std::string line = "set bench-0000000007 0 0 6\r\n";
  ASSERT_EQ(text.substr(0, line.size()), line);
  EXPECT_TRUE(items.IsValueOf(text.substr(line.size(), 6), 7));
  EXPECT_EQ(text.substr(line.size() + 6), "\r\n");
}

// One set for ten gets over any stretch of a whole number of cycles, wherever it begins.
TEST(CycleSource, KeepsTheRatioAcrossBatches) {
  const Items items(16, 128);
  for (const std::uint32_t pipeline : {1U, 50U, 100U}) {
    Workload workload = *FindWorkload("memtier-1-10");
    workload.pipeline = pipeline;
    for (const std::uint32_t phase : {0U, 3U, 10U}) {
      CycleSource source(items, workload, ItemPicker(100, 0, 1), phase);
      std::uint64_t sets = 0;
      std::uint64_t requests = 0;
      for (int i = 0; i < 11; ++i) {
        Batch batch;
        ASSERT_TRUE(source.Next(batch));
        EXPECT_EQ(batch.requests.size(), pipeline);
        requests += batch.requests.size();
        sets += static_cast<std::uint64_t>(std::ranges::count(
            batch.requests, Verb::kSet, [](const RequestShape& shape) { return shape.verb; }));
      }
      EXPECT_EQ(sets * 11, requests);
    }
  }
}

TEST(CycleSource, AsksForAllKeysAlike) {
  const Items items(16, 10);
  CycleSource source(items, *FindWorkload("mget50"), ItemPicker(10, 0, 1), 0);
  std::vector<int> seen(10);
  for (int i = 0; i < 2000; ++i) {
    Batch batch;
    ASSERT_TRUE(source.Next(batch));
    ASSERT_EQ(batch.items.size(), 50U);
    for (const std::uint64_t item : batch.items) ++seen.at(item);
  }
  for (const int n : seen) EXPECT_NEAR(n, 10'000, 500);
}

TEST(Workload, NamesAndPipelines) {
  for (const Workload& workload : Workloads()) EXPECT_TRUE(FindWorkload(workload.name));
  EXPECT_EQ(FindWorkload("memtier-1-10:100")->pipeline, 100U);
  for (const char* const name : {"", "memtier", "memtier-1-10:", "memtier-1-10:0", "get8:x"})
    EXPECT_FALSE(FindWorkload(name)) << name;
}

}  // namespace
}  // namespace podcache::bench
