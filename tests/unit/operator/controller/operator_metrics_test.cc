#include "operator/controller/operator_metrics.h"

#include <gtest/gtest.h>

#include "tests/unit/operator/controller/metric_reader.h"

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(OperatorMetricsTest, EverySeriesIsZeroAtStart) {
  OperatorMetrics metrics;
  metrics.ForController("cachesidecar", 3);
  metrics.ForQueue("cachesidecar");
  metrics.SetLeader("podcache-operator", false);
  const MetricLabels controller = {{"controller", "cachesidecar"}};
  for (const char* result : {"success", "error", "requeue", "requeue_after"}) {
    EXPECT_EQ(ReadMetric(metrics, "controller_runtime_reconcile_total",
                         {{"controller", "cachesidecar"}, {"result", result}}),
              0);
  }
  for (const char* name :
       {"controller_runtime_reconcile_errors_total",
        "controller_runtime_terminal_reconcile_errors_total",
        "controller_runtime_reconcile_panics_total", "controller_runtime_reconcile_timeouts_total",
        "controller_runtime_active_workers"}) {
    EXPECT_EQ(ReadMetric(metrics, name, controller), 0) << name;
  }
  EXPECT_EQ(ReadMetric(metrics, "controller_runtime_max_concurrent_reconciles", controller), 3);
  const auto time = FindMetric(metrics, "controller_runtime_reconcile_time_seconds", controller);
  ASSERT_TRUE(time.has_value());
  EXPECT_EQ(time->histogram.sample_count, 0u);
  EXPECT_EQ(time->histogram.bucket.front().upper_bound, 0.005);
  EXPECT_EQ(time->histogram.bucket[time->histogram.bucket.size() - 2].upper_bound, 60);
  const MetricLabels queue = {{"name", "cachesidecar"}, {"controller", "cachesidecar"}};
  for (const char* name : {"workqueue_depth", "workqueue_unfinished_work_seconds",
                           "workqueue_longest_running_processor_seconds", "workqueue_adds_total",
                           "workqueue_retries_total"}) {
    EXPECT_EQ(ReadMetric(metrics, name, queue), 0) << name;
  }
  EXPECT_TRUE(FindMetric(metrics, "workqueue_queue_duration_seconds", queue).has_value());
  EXPECT_TRUE(FindMetric(metrics, "workqueue_work_duration_seconds", queue).has_value());
  EXPECT_EQ(ReadMetric(metrics, "leader_election_master_status", {{"name", "podcache-operator"}}),
            0);
}

TEST(OperatorMetricsTest, QueuesAreReadAtTheScrape) {
  ManualClock clock;
  OperatorMetrics metrics;
  const MetricLabels labels = {{"name", "q"}, {"controller", "q"}};
  {
    WorkQueue queue(clock, RateLimiter(), &metrics.ForQueue("q"));
    metrics.WatchQueue("q", &queue);
    queue.Add("a");
    queue.Add("b");
    queue.Add("c");
    clock.Advance(milliseconds(50));
    queue.TryGet();
    clock.Advance(seconds(2));
    queue.TryGet();
    clock.Advance(seconds(3));
    EXPECT_EQ(ReadMetric(metrics, "workqueue_depth", labels), 1);
    EXPECT_EQ(ReadMetric(metrics, "workqueue_adds_total", labels), 3);
    EXPECT_EQ(ReadMetric(metrics, "workqueue_unfinished_work_seconds", labels), 8);
    EXPECT_EQ(ReadMetric(metrics, "workqueue_longest_running_processor_seconds", labels), 5);
    const auto waited = FindMetric(metrics, "workqueue_queue_duration_seconds", labels);
    EXPECT_EQ(waited->histogram.sample_count, 2u);
    EXPECT_DOUBLE_EQ(waited->histogram.sample_sum, 0.05 + 2.05);
    metrics.WatchQueue("q", nullptr);
  }
  EXPECT_EQ(ReadMetric(metrics, "workqueue_depth", labels), 0);
}

TEST(OperatorMetricsTest, RequestsAndLeadership) {
  OperatorMetrics metrics;
  metrics.OnRequest("get", "GET", "api:443", 200, milliseconds(10));
  metrics.OnRequest("get", "GET", "api:443", 200, milliseconds(10));
  metrics.OnRequest("apply", "PATCH", "api:443", 0, seconds(1));
  EXPECT_EQ(ReadMetric(metrics, "rest_client_requests_total",
                       {{"code", "200"}, {"method", "GET"}, {"host", "api:443"}}),
            2);
  EXPECT_EQ(ReadMetric(metrics, "rest_client_requests_total",
                       {{"code", "<error>"}, {"method", "PATCH"}, {"host", "api:443"}}),
            1);
  const auto seconds_of_get = FindMetric(metrics, "rest_client_request_duration_seconds",
                                         {{"verb", "get"}, {"host", "api:443"}});
  ASSERT_TRUE(seconds_of_get.has_value());
  EXPECT_EQ(seconds_of_get->histogram.sample_count, 2u);
  metrics.SetLeader("l", true);
  EXPECT_EQ(ReadMetric(metrics, "leader_election_master_status", {{"name", "l"}}), 1);
  metrics.SetLeader("l", false);
  EXPECT_EQ(ReadMetric(metrics, "leader_election_master_status", {{"name", "l"}}), 0);
}

TEST(OperatorMetricsTest, OutcomesMoveTheirCounters) {
  OperatorMetrics metrics;
  ControllerObserver& observer = metrics.ForController("c", 1);
  observer.OnReconcileStart();
  EXPECT_EQ(ReadMetric(metrics, "controller_runtime_active_workers", {{"controller", "c"}}), 1);
  observer.OnReconcileEnd(ReconcileOutcome::kSuccess, milliseconds(30));
  EXPECT_EQ(ReadMetric(metrics, "controller_runtime_active_workers", {{"controller", "c"}}), 0);
  const auto time =
      FindMetric(metrics, "controller_runtime_reconcile_time_seconds", {{"controller", "c"}});
  EXPECT_DOUBLE_EQ(time->histogram.sample_sum, 0.03);
}

}  // namespace
}  // namespace podcache::kube
