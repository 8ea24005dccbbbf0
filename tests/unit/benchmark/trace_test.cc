#include "tests/benchmark/load/trace.h"

#include <gtest/gtest.h>

#include <cstring>
#include <sstream>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "tests/benchmark/load/client_socket.h"

namespace podcache::bench {
namespace {

std::vector<TraceRequest> ReadAll(std::string_view format, const std::string& text) {
  std::istringstream input(text);
  const std::unique_ptr<Trace> trace = OpenTrace(format, input);
  std::vector<TraceRequest> requests;
  TraceRequest request;
  while (trace->Next(request)) requests.push_back(request);
  return requests;
}

TEST(TraceFormats, Twitter) {
  const auto requests = ReadAll("twitter",
                                "0,q:q:1:8WTfjZU14ee,17,213,4,get,0\n"
                                "3,yDqF:3q:1AJrrJ1nnCJKKrnGx1A,27,27,5,add,14400\n"
                                "3,q:q:1:8WTfjZU14ee,17,0,6,delete,0\n");
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].verb, TraceVerb::kGet);
  EXPECT_EQ(requests[0].key_bytes, 17U);
  EXPECT_EQ(requests[0].value_bytes, 213U);
  EXPECT_EQ(requests[1].seconds, 3);
  EXPECT_EQ(requests[1].ttl_seconds, 14400U);
  EXPECT_EQ(requests[1].verb, TraceVerb::kSet);
  EXPECT_EQ(requests[2].verb, TraceVerb::kDelete);
  EXPECT_EQ(requests[0].key, requests[2].key);
  EXPECT_NE(requests[0].key, requests[1].key);
}

TEST(TraceFormats, CacheLibWithItsHeader) {
  const auto requests = ReadAll("cachelib",
                                "key,op,size,op_count,key_size\r\n"
                                "1,GET,100,1,20\r\n1,SET,120,1,20\r\n");
  ASSERT_EQ(requests.size(), 2U);
  EXPECT_EQ(requests[0].verb, TraceVerb::kGet);
  EXPECT_EQ(requests[1].value_bytes, 120U);
  EXPECT_EQ(requests[1].key_bytes, 20U);
}

TEST(TraceFormats, OracleGeneral) {
  std::string records;
  const auto append = [&](auto number) {
    records.append(reinterpret_cast<const char*>(&number), sizeof(number));
  };
  for (std::uint32_t i = 0; i < 3; ++i) {
    append(std::uint32_t{7 + i});
    append(std::uint64_t{1000 + i});
    append(std::uint32_t{64 * i});
    append(std::int64_t{-1});
  }
  const auto requests = ReadAll("oracle-general", records);
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[2].seconds, 9);
  EXPECT_EQ(requests[2].key, 1002U);
  EXPECT_EQ(requests[2].value_bytes, 128U);
  EXPECT_THROW(ReadAll("oracle-general", records.substr(1)), Failure);
}

TEST(TraceFormats, Msr) {
  const auto requests = ReadAll("msr",
                                "128166372003061629,usr,0,Read,7014609920,24576,41286\n"
                                "128166372013061629,usr,0,Write,7014609920,4096,41286\n"
                                "128166372013061629,usr,1,Write,7014609920,4096,41286\n");
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].verb, TraceVerb::kGet);
  EXPECT_EQ(requests[1].verb, TraceVerb::kSet);
  EXPECT_EQ(requests[0].key, requests[1].key);
  EXPECT_NE(requests[1].key, requests[2].key) << "another disk";
  EXPECT_NEAR(requests[1].seconds - requests[0].seconds, 1, 1e-4);
}

TEST(TraceFormats, Keys) {
  const auto requests = ReadAll("keys", "a\nb,500\na\n");
  ASSERT_EQ(requests.size(), 3U);
  EXPECT_EQ(requests[0].key, requests[2].key);
  EXPECT_EQ(requests[1].value_bytes, 500U);
}

TEST(TraceFormats, WhatIsNotOfTheFormat) {
  EXPECT_THROW(ReadAll("twitter", "0,a,1,2,3,get,0\nnonsense\n"), Failure);
  EXPECT_THROW(ReadAll("cachelib", "key,op\n1,GET,x,1,20\n"), Failure);
  EXPECT_THROW(ReadAll("unknown", ""), Failure);
}

struct Shape {
  double distinct = 0;  // Different keys by requests.
  double once = 0;      // Requests for keys that appear once, by requests.
  double sets = 0;
  double mean_value = 0;  // Of the second half.
  double mean_value_first = 0;
};

Shape ShapeOf(std::string_view name) {
  const GeneratorPlan plan{.requests = 200'000, .keys = 20'000, .seed = 1};
  const std::unique_ptr<Trace> trace = NewGenerator(name, plan);
  std::unordered_map<std::uint64_t, int> seen;
  Shape shape;
  TraceRequest request;
  std::uint64_t n = 0;
  for (; trace->Next(request); ++n) {
    ++seen[request.key];
    shape.sets += request.verb == TraceVerb::kSet ? 1 : 0;
    (n < plan.requests / 2 ? shape.mean_value_first : shape.mean_value) += request.value_bytes;
    EXPECT_GE(request.key_bytes, 16U);
  }
  EXPECT_EQ(n, plan.requests);
  const auto total = static_cast<double>(plan.requests);
  for (const auto& [key, count] : seen) shape.once += count == 1 ? 1 : 0;
  shape.distinct = static_cast<double>(seen.size()) / total;
  shape.once /= total;
  shape.sets /= total;
  shape.mean_value /= total / 2;
  shape.mean_value_first /= total / 2;
  return shape;
}

TEST(TraceGenerators, AreWhatTheyAreCalled) {
  const Shape plain = ShapeOf("zipf-1.0");
  EXPECT_EQ(plain.sets, 0);
  // exp(1/2) times the median, for a log-normal of deviation 1.
  EXPECT_NEAR(plain.mean_value, 230 * 1.6487, 60);
  EXPECT_LT(ShapeOf("zipf-1.1").distinct, plain.distinct);
  EXPECT_GT(ShapeOf("zipf-0.7").distinct, plain.distinct);
  EXPECT_NEAR(ShapeOf("scan").once, 0.2 + plain.once, 0.03);
  EXPECT_NEAR(ShapeOf("writes").sets, 0.35, 0.01);
  EXPECT_NEAR(ShapeOf("small").mean_value, 16, 3);
  EXPECT_GT(ShapeOf("churn").distinct, 2 * plain.distinct);
  const Shape drift = ShapeOf("drift");
  // Growing evenly from 1 to 4: 1.75 in the first half, 3.25 in the second.
  EXPECT_NEAR(drift.mean_value / drift.mean_value_first, 3.25 / 1.75, 0.15);
  EXPECT_THROW(NewGenerator("unknown", {}), Failure);
}

TEST(TraceGenerators, AreTheSameEveryTime) {
  const auto one = NewGenerator("ttl", {.requests = 100, .keys = 1000, .seed = 5});
  const auto same = NewGenerator("ttl", {.requests = 100, .keys = 1000, .seed = 5});
  TraceRequest a;
  TraceRequest b;
  while (one->Next(a)) {
    ASSERT_TRUE(same->Next(b));
    EXPECT_EQ(a.key, b.key);
    EXPECT_EQ(a.value_bytes, b.value_bytes);
    EXPECT_EQ(a.ttl_seconds, b.ttl_seconds);
    EXPECT_GE(a.ttl_seconds, 10U);
  }
}

}  // namespace
}  // namespace podcache::bench
