#include "operator/queue/work_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <thread>

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class CountingObserver final : public WorkQueueObserver {
 public:
  void OnAdd() override { ++adds; }
  void OnGet(std::chrono::nanoseconds waited) override { last_waited = waited; }
  void OnDone(std::chrono::nanoseconds worked) override { last_worked = worked; }
  void OnRetry() override { ++retries; }

  std::atomic<int> adds{0};
  std::atomic<int> retries{0};
  std::atomic<std::chrono::nanoseconds> last_waited{};
  std::atomic<std::chrono::nanoseconds> last_worked{};
};

class WorkQueueTest : public testing::Test {
 protected:
  ManualClock clock_;
  CountingObserver observer_;
  WorkQueue queue_{clock_, RateLimiter(), &observer_};
};

TEST_F(WorkQueueTest, InOrderAndWithoutDuplicates) {
  queue_.Add("a");
  queue_.Add("b");
  queue_.Add("a");
  EXPECT_EQ(queue_.depth(), 2u);
  EXPECT_EQ(observer_.adds, 2);
  EXPECT_EQ(queue_.TryGet(), "a");
  EXPECT_EQ(queue_.TryGet(), "b");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  queue_.Done("a");
  queue_.Done("b");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, AKeyAddedWhileWorkedOnComesAgainOnceAfterwards) {
  queue_.Add("a");
  ASSERT_EQ(queue_.TryGet(), "a");
  queue_.Add("a");
  queue_.Add("a");
  EXPECT_EQ(queue_.depth(), 0u);
  EXPECT_EQ(queue_.TryGet(), std::nullopt);  // Never twice at once.
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Done("a");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, DelayedAddsComeWhenDue) {
  queue_.AddAfter("late", seconds(10));
  queue_.AddAfter("soon", seconds(1));
  queue_.AddAfter("now", seconds(0));
  EXPECT_EQ(queue_.TryGet(), "now");
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  EXPECT_EQ(queue_.NextDelayed(), clock_.MonotonicNow() + seconds(1));
  clock_.Advance(seconds(1) - std::chrono::nanoseconds(1));
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
  clock_.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(queue_.TryGet(), "soon");
  clock_.Advance(seconds(9));
  EXPECT_EQ(queue_.TryGet(), "late");
}

TEST_F(WorkQueueTest, TheEarliestOfSeveralDelayedAddsCounts) {
  queue_.AddAfter("a", seconds(10));
  queue_.AddAfter("a", seconds(2));
  queue_.AddAfter("a", seconds(5));
  clock_.Advance(seconds(2));
  EXPECT_EQ(queue_.TryGet(), "a");
  queue_.Done("a");
  clock_.Advance(seconds(60));
  EXPECT_EQ(queue_.TryGet(), std::nullopt);
}

TEST_F(WorkQueueTest, FailuresBackOffUntilForgotten) {
  for (const int delay_ms : {5, 10, 20}) {
    queue_.AddRateLimited("a");
    clock_.Advance(milliseconds(delay_ms) - std::chrono::nanoseconds(1));
    EXPECT_EQ(queue_.TryGet(), std::nullopt);
    clock_.Advance(std::chrono::nanoseconds(1));
    EXPECT_EQ(queue_.TryGet(), "a");
    queue_.Done("a");
  }
  EXPECT_EQ(queue_.Failures("a"), 3);
  EXPECT_EQ(observer_.retries, 3);
  queue_.Forget("a");
  EXPECT_EQ(queue_.Failures("a"), 0);
  queue_.AddRateLimited("a");
  clock_.Advance(milliseconds(5));
  EXPECT_EQ(queue_.TryGet(), "a");
}

TEST_F(WorkQueueTest, TimesAreMeasured) {
  queue_.Add("a");
  clock_.Advance(seconds(3));
  ASSERT_EQ(queue_.TryGet(), "a");
  EXPECT_EQ(observer_.last_waited.load(), seconds(3));
  queue_.Add("b");
  clock_.Advance(seconds(4));
  ASSERT_EQ(queue_.TryGet(), "b");
  clock_.Advance(seconds(1));
  EXPECT_EQ(queue_.unfinished().total, seconds(6));
  EXPECT_EQ(queue_.unfinished().longest, seconds(5));
  queue_.Done("a");
  EXPECT_EQ(observer_.last_worked.load(), seconds(5));
  EXPECT_EQ(queue_.unfinished().total, seconds(1));
}

TEST_F(WorkQueueTest, ShutDownWakesWaitersAndIgnoresAdds) {
  std::thread waiter([this] { EXPECT_EQ(queue_.Get(), std::nullopt); });
  queue_.ShutDown();
  waiter.join();
  queue_.Add("a");
  queue_.AddAfter("b", seconds(1));
  queue_.AddRateLimited("c");
  EXPECT_EQ(queue_.Get(), std::nullopt);
  EXPECT_EQ(queue_.depth(), 0u);
}

TEST_F(WorkQueueTest, AWaiterIsWokenByAnAdd) {
  std::thread waiter([this] { EXPECT_EQ(queue_.Get(), "a"); });
  queue_.Add("a");
  waiter.join();
}

// Under ThreadSanitizer: no key is ever in two hands, and none is lost.
TEST(WorkQueueThreadsTest, ManyWorkersManyAdders) {
  constexpr int kKeys = 20;
  constexpr int kAdds = 2000;
  const SystemClock clock;
  WorkQueue queue(clock, RateLimiter(), nullptr);
  std::atomic<int> holders[kKeys] = {};
  std::atomic<int> added[kKeys] = {};
  std::atomic<int> seen[kKeys] = {};
  std::vector<std::thread> workers;
  for (int w = 0; w < 4; ++w) {
    workers.emplace_back([&] {
      while (const auto key = queue.Get()) {
        const int k = std::stoi(*key);
        EXPECT_EQ(holders[k].fetch_add(1), 0);
        seen[k] = added[k].load();
        holders[k].fetch_sub(1);
        queue.Done(*key);
      }
    });
  }
  std::vector<std::thread> adders;
  for (int a = 0; a < 2; ++a) {
    adders.emplace_back([&] {
      for (int i = 0; i < kAdds; ++i) {
        ++added[i % kKeys];
        if (i % 3 == 0) {
          queue.AddAfter(std::to_string(i % kKeys), std::chrono::microseconds(50));
        } else {
          queue.Add(std::to_string(i % kKeys));
        }
      }
    });
  }
  for (std::thread& adder : adders) adder.join();
  for (int k = 0; k < kKeys; ++k) {
    while (seen[k] != added[k]) std::this_thread::yield();
  }
  queue.ShutDown();
  for (std::thread& worker : workers) worker.join();
}

}  // namespace
}  // namespace podcache::kube
