// Workers on threads of their own over one store: under ThreadSanitizer this shows what they must
// not share.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/unit/server/session/session_harness.h"

namespace podcache {
namespace {

using testing::Connection;
using testing::Harness;

TEST(SessionThreadsTest, WorkersShareTheStoreAndTheStatistics) {
  constexpr int kThreads = 3;
  constexpr int kRounds = 200;
  Harness harness;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&harness] {
      const std::unique_ptr<net::WorkerHandler> worker = harness.factory->NewWorker();
      Connection connection(*worker);
      for (int round = 0; round < kRounds; ++round) {
        const std::string reply = connection.Receive(
            "add n 0 0 1 noreply\r\n0\r\nincr n 1 noreply\r\nset a 0 0 3\r\nabc\r\nget a n b\r\n"
            "gat 100 a\r\ndelete b noreply\r\nverbosity 1 noreply\r\n");
        EXPECT_TRUE(reply.starts_with("STORED\r\nVALUE a 0 3\r\nabc\r\nVALUE n 0 ")) << reply;
        if (round % 20 == 0)
          connection.Receive("stats\r\nstats items\r\nstats reset\r\nstats slabs\r\n");
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  // No increment is lost.
  EXPECT_EQ(harness.Ask("get n\r\n"),
            "VALUE n 0 3\r\n" + std::to_string(kThreads * kRounds) + "\r\nEND\r\n");
  EXPECT_EQ(harness.Count(metrics::Counter::kIncrHits), std::uint64_t{kThreads * kRounds});
}

}  // namespace
}  // namespace podcache
