#include "server/metrics/collector/metrics_collector.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <string>

namespace podcache::metrics {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

class MetricsCollectorTest : public ::testing::Test {
 protected:
  std::string Render() { return collector_.Render(); }

  CounterRegistry registry_;
  ServerSnapshot snapshot_;
  MetricsCollector collector_{registry_, [this] { return snapshot_; }};
};

TEST_F(MetricsCollectorTest, SumsTheBlocksOfAllWorkersAlsoOfThoseGone) {
  WorkerCounters& one = registry_.Acquire();
  WorkerCounters& two = registry_.Acquire();
  one.Add(Counter::kGetHits, 3);
  two.Add(Counter::kGetHits, 4);
  registry_.Release(two);
  EXPECT_THAT(Render(), HasSubstr("memcached_commands_total{command=\"get\",status=\"hit\"} 7\n"));
}

TEST_F(MetricsCollectorTest, PlainSetsAreWhatCasLeaves) {
  WorkerCounters& block = registry_.Acquire();
  block.Add(Counter::kCmdSet, 10);
  block.Add(Counter::kCasHits, 2);
  block.Add(Counter::kCasMisses, 3);
  block.Add(Counter::kCasBadval, 1);
  EXPECT_THAT(Render(), HasSubstr("memcached_commands_total{command=\"set\",status=\"hit\"} 4\n"));
}

// A cas is counted in two cells, and a scrape may see only the second: the difference must not fall
// because of it.
TEST_F(MetricsCollectorTest, PlainSetsNeverFall) {
  WorkerCounters& block = registry_.Acquire();
  block.Add(Counter::kCmdSet, 10);
  EXPECT_THAT(Render(), HasSubstr("status=\"hit\"} 10\n"));
  block.Add(Counter::kCasHits, 2);
  EXPECT_THAT(Render(), HasSubstr("{command=\"set\",status=\"hit\"} 10\n"));
  block.Add(Counter::kCmdSet, 5);
  EXPECT_THAT(Render(), HasSubstr("{command=\"set\",status=\"hit\"} 13\n"));
}

TEST_F(MetricsCollectorTest, StatsResetChangesNothing) {
  WorkerCounters& block = registry_.Acquire();
  block.Add(Counter::kDeleteMisses, 5);
  const std::string before = Render();
  registry_.MarkReset();
  EXPECT_EQ(Render(), before);
}

TEST_F(MetricsCollectorTest, DurationsAreCumulativeInSeconds) {
  WorkerCounters& block = registry_.Acquire();
  block.AddDuration(CommandClass::kMultiget, 5'000);          // On a bound: belongs to it.
  block.AddDuration(CommandClass::kMultiget, 30'000, 2);      // Between 25 and 50 µs.
  block.AddDuration(CommandClass::kMultiget, 2'000'000'000);  // Above all.
  const std::string text = Render();
  const std::string series = "podcache_command_duration_seconds";
  EXPECT_THAT(text, HasSubstr(series + "_bucket{class=\"multiget\",le=\"5e-06\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(series + "_bucket{class=\"multiget\",le=\"2.5e-05\"} 1\n"));
  EXPECT_THAT(text, HasSubstr(series + "_bucket{class=\"multiget\",le=\"5e-05\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(series + "_bucket{class=\"multiget\",le=\"1\"} 3\n"));
  EXPECT_THAT(text, HasSubstr(series + "_bucket{class=\"multiget\",le=\"+Inf\"} 4\n"));
  EXPECT_THAT(text, HasSubstr(series + "_count{class=\"multiget\"} 4\n"));
  EXPECT_THAT(text, HasSubstr(series + "_sum{class=\"multiget\"} 2.000065\n"));
  for (const char* name : {"get", "store", "delete", "arithmetic", "touch", "admin"}) {
    EXPECT_THAT(text, HasSubstr(series + "_count{class=\"" + name + "\"} 0\n"));
  }
}

TEST_F(MetricsCollectorTest, LeasesByKind) {
  WorkerCounters& block = registry_.Acquire();
  block.Add(Counter::kVivifyWins, 1);
  block.Add(Counter::kRecacheWins, 2);
  block.Add(Counter::kStaleWins, 3);
  block.Add(Counter::kVivifyWaits, 4);
  block.Add(Counter::kRecacheWaits, 5);
  block.Add(Counter::kStaleWaits, 6);
  block.Add(Counter::kMetaCommands, 7);
  block.Add(Counter::kMetaErrors, 8);
  const std::string text = Render();
  EXPECT_THAT(text, HasSubstr("podcache_lease_wins_total{kind=\"vivify\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("podcache_lease_wins_total{kind=\"recache\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("podcache_lease_wins_total{kind=\"stale\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("podcache_lease_waits_total{kind=\"vivify\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("podcache_lease_waits_total{kind=\"recache\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("podcache_lease_waits_total{kind=\"stale\"} 6\n"));
  EXPECT_THAT(text, HasSubstr("podcache_protocol_commands_total{protocol=\"meta\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("podcache_protocol_errors_total{protocol=\"meta\"} 8\n"));
}

TEST_F(MetricsCollectorTest, MemoryByUseAddsUpToWhatCountsAgainstTheBudget) {
  snapshot_.store.segment_bytes = 1000;
  snapshot_.store.free_segment_bytes = 300;
  snapshot_.store.index_bytes = 50;
  snapshot_.store.external_bytes = 80;
  snapshot_.buffer_bytes = 30;
  snapshot_.connection_bytes = 40;
  const std::string text = Render();
  const auto use = [](const char* kind, int bytes) {
    return HasSubstr("podcache_memory_used_bytes{kind=\"" + std::string(kind) + "\"} " +
                     std::to_string(bytes) + "\n");
  };
  EXPECT_THAT(text, use("items", 700));
  EXPECT_THAT(text, use("index", 50));
  EXPECT_THAT(text, use("buffers", 30));
  EXPECT_THAT(text, use("connections", 40));
  EXPECT_THAT(text, use("free_segments", 300));
  EXPECT_THAT(text, use("other", 10));  // 700 + 50 + 30 + 40 + 300 + 10 = 1000 + 50 + 80
}

TEST_F(MetricsCollectorTest, LimitsThatAreNotThereAreLeftOut) {
  EXPECT_THAT(Render(), Not(HasSubstr("podcache_cgroup_memory_limit_bytes")));
  EXPECT_THAT(Render(), Not(HasSubstr("podcache_cgroup_cpu_quota_cores")));
  EXPECT_THAT(Render(), HasSubstr("podcache_cgroup_cpu_throttled_seconds_total 0\n"));
  snapshot_.cgroup.memory_limit_bytes = 268435456;
  snapshot_.cgroup.cpu_quota_cores = 1.5;
  EXPECT_THAT(Render(), HasSubstr("podcache_cgroup_memory_limit_bytes 268435456\n"));
  EXPECT_THAT(Render(), HasSubstr("podcache_cgroup_cpu_quota_cores 1.5\n"));
}

TEST_F(MetricsCollectorTest, ARemovedWorkersSeriesGoAway) {
  snapshot_.threads.workers = {{3, 0.5, 9}, {4, 1.5, 8}};
  EXPECT_THAT(Render(), HasSubstr("podcache_worker_connections{worker=\"1\"} 4\n"));
  EXPECT_THAT(Render(), HasSubstr("podcache_worker_busy_seconds_total{worker=\"1\"} 1.5\n"));
  EXPECT_THAT(Render(), HasSubstr("podcache_worker_commands_total{worker=\"0\"} 9\n"));
  snapshot_.threads.workers.pop_back();
  EXPECT_THAT(Render(), Not(HasSubstr("{worker=\"1\"}")));
}

TEST_F(MetricsCollectorTest, ResizesHaveAllSeriesFromTheStart) {
  for (const char* direction : {"grow", "shrink"}) {
    for (const char* result : {"done", "failed", "superseded"}) {
      EXPECT_THAT(Render(),
                  HasSubstr("podcache_memory_resizes_total{direction=\"" + std::string(direction) +
                            "\",result=\"" + result + "\"} 0\n"));
    }
    EXPECT_THAT(Render(), HasSubstr("podcache_memory_resize_duration_seconds_count{direction=\"" +
                                    std::string(direction) + "\"} 0\n"));
  }
  snapshot_.resizes.total[static_cast<std::size_t>(Direction::kShrink)]
                         [static_cast<std::size_t>(ResizeOutcome::kSuperseded)] = 2;
  EXPECT_THAT(Render(), HasSubstr("{direction=\"shrink\",result=\"superseded\"} 2\n"));
}

TEST_F(MetricsCollectorTest, EvictionsAreSplitByQueueAndReason) {
  snapshot_.store.small_queue = {.items = 1,
                                 .item_bytes = 100,
                                 .evicted_for_room_items = 2,
                                 .evicted_for_room_bytes = 200,
                                 .evicted_by_shrink_items = 3,
                                 .evicted_by_shrink_bytes = 300};
  snapshot_.store.main_queue = {.items = 4,
                                .item_bytes = 400,
                                .evicted_for_room_items = 5,
                                .evicted_for_room_bytes = 500,
                                .evicted_by_shrink_items = 6,
                                .evicted_by_shrink_bytes = 600};
  snapshot_.store.ghosts = 7;
  const std::string text = Render();
  const auto evicted = [](const char* queue, const char* reason, int n) {
    const auto labels = "{queue=\"" + std::string(queue) + "\",reason=\"" + reason + "\"} ";
    return AllOf(HasSubstr("podcache_evicted_items_total" + labels + std::to_string(n) + "\n"),
                 HasSubstr("podcache_evicted_bytes_total" + labels + std::to_string(n) + "00\n"));
  };
  EXPECT_THAT(text, evicted("small", "capacity", 2));
  EXPECT_THAT(text, evicted("small", "shrink", 3));
  EXPECT_THAT(text, evicted("main", "capacity", 5));
  EXPECT_THAT(text, evicted("main", "shrink", 6));
  EXPECT_THAT(text, HasSubstr("podcache_queue_items{queue=\"small\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("podcache_queue_items{queue=\"main\"} 4\n"));
  EXPECT_THAT(text, HasSubstr("podcache_queue_items{queue=\"ghost\"} 7\n"));
  EXPECT_THAT(text, HasSubstr("podcache_queue_bytes{queue=\"small\"} 100\n"));
  EXPECT_THAT(text, HasSubstr("podcache_queue_bytes{queue=\"main\"} 400\n"));
}

TEST_F(MetricsCollectorTest, ExpiriesAreSplitByCauseAndNeverFall) {
  snapshot_.store.expired_items = 9;
  snapshot_.store.expired_in_sweep_items = 5;
  snapshot_.store.expired_in_segment_items = 1;
  const std::string text = Render();
  EXPECT_THAT(text, HasSubstr("podcache_expired_items_total{how=\"read\"} 3\n"));
  EXPECT_THAT(text, HasSubstr("podcache_expired_items_total{how=\"sweep\"} 5\n"));
  EXPECT_THAT(text, HasSubstr("podcache_expired_items_total{how=\"segment\"} 1\n"));
  // A sweep is seen by its own counter first.
  snapshot_.store.expired_in_sweep_items = 7;
  EXPECT_THAT(Render(), HasSubstr("podcache_expired_items_total{how=\"read\"} 3\n"));
}

TEST_F(MetricsCollectorTest, CrawlerSettingsAreShownOnlyWhileItIsOn) {
  EXPECT_THAT(Render(), HasSubstr("memcached_lru_crawler_enabled 1\n"));
  snapshot_.lru.enabled = false;
  EXPECT_THAT(Render(), Not(HasSubstr("memcached_lru_crawler_enabled")));
  EXPECT_THAT(Render(), Not(HasSubstr("memcached_lru_crawler_hot_percent")));
  EXPECT_THAT(Render(), HasSubstr("memcached_lru_crawler_starts_total 0\n"));
}

TEST_F(MetricsCollectorTest, LargeNumbersKeepAllTheirDigits) {
  snapshot_.store.memory_limit_bytes = (1ULL << 40) + 1;
  EXPECT_THAT(Render(), HasSubstr("memcached_limit_bytes 1099511627777\n"));
}

}  // namespace
}  // namespace podcache::metrics
