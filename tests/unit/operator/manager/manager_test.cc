#include "operator/manager/manager.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>

#include "operator/controller/operator_metrics.h"
#include "tests/unit/operator/manager/lease_api.h"

namespace podcache::kube {
namespace {

using std::chrono::seconds;

void UntilTrue(const std::function<bool()>& condition) {
  while (!condition()) std::this_thread::yield();
}

class CountingReconciler final : public Reconciler {
 public:
  absl::StatusOr<Result> Reconcile(const Request&) override {
    entered = true;
    UntilTrue([this] { return !block.load(); });
    ++count;
    return Result{};
  }
  std::atomic<bool> entered{false};
  std::atomic<bool> block{false};
  std::atomic<int> count{0};
};

class ManagerTest : public testing::Test {
 protected:
  ManagerTest() {
    controller_.Watch(informer_, MapToSelf(), Always());
    ON_CALL(api_, List)
        .WillByDefault([this](const ResourceType&, std::string_view,
                              const ListOptions&) -> absl::StatusOr<ListPage> {
          if (!list_works_) return absl::UnavailableError("down");
          ListPage page;
          page.items.emplace_back(nlohmann::json{{"metadata", {{"name", "n1"}}}});
          page.resource_version = "1";
          return page;
        });
    ON_CALL(api_, Watch)
        .WillByDefault([](const ResourceType&, std::string_view, const WatchOptions&,
                          const ApiClient::WatchHandler&, std::stop_token stop) {
          UntilTrue([&] { return stop.stop_requested(); });
          return absl::CancelledError("stopped");
        });
  }
  // Runs the manager on its own thread.
  void Run(Manager& manager) {
    manager.Add(informer_);
    manager.Add(controller_);
    thread_ = std::thread([&] { result_ = manager.Run(stop_.get_token()); });
  }
  absl::Status Join() {
    thread_.join();
    return result_;
  }

  SystemClock clock_;
  std::atomic<bool> list_works_{true};
  LeaseApi api_;
  OperatorMetrics metrics_;
  CountingReconciler reconciler_;
  Informer informer_{api_, kNodes, {}, {}, clock_, 1, Logger::Null()};
  Controller controller_{{.name = "node"}, reconciler_, clock_, metrics_, Logger::Null()};
  LeaderElector elector_{api_, {.lease = {"ns", "l"}, .identity = "me"}, clock_, 1, Logger::Null()};
  std::stop_source stop_;
  std::thread thread_;
  absl::Status result_;
};

TEST_F(ManagerTest, RunsUntilTheStopAndReleasesTheLease) {
  std::atomic<int> changes{0};
  Manager manager({.on_leadership = [&](bool) { ++changes; }}, &elector_, Logger::Null());
  std::atomic<bool> led_before_reconcile{false};
  manager.OnLeading([&] { led_before_reconcile = manager.is_leader() && reconciler_.count == 0; });
  EXPECT_FALSE(manager.ready());
  Run(manager);
  UntilTrue([&] { return reconciler_.count > 0; });
  EXPECT_TRUE(manager.ready());
  EXPECT_TRUE(manager.is_leader());
  EXPECT_TRUE(led_before_reconcile);
  stop_.request_stop();
  EXPECT_TRUE(Join().ok());
  EXPECT_FALSE(manager.ready());
  EXPECT_FALSE(manager.is_leader());
  EXPECT_EQ(api_.holder(), "");
  EXPECT_EQ(changes, 3);  // Not leading, leading, not any more.
}

TEST_F(ManagerTest, WithoutElectorItLeads) {
  Manager manager({}, nullptr, Logger::Null());
  Run(manager);
  UntilTrue([&] { return reconciler_.count > 0; });
  stop_.request_stop();
  EXPECT_TRUE(Join().ok());
}

TEST_F(ManagerTest, AStandbyIsReadyAndReconcilesNothing) {
  LeaderElector other(api_, {.lease = {"ns", "l"}, .identity = "other"}, clock_, 1, Logger::Null());
  ASSERT_EQ(other.Step(), Leadership::kLeading);
  Manager manager({}, &elector_, Logger::Null());
  Run(manager);
  UntilTrue([&] { return manager.ready(); });
  EXPECT_FALSE(manager.is_leader());
  stop_.request_stop();
  EXPECT_TRUE(Join().ok());
  EXPECT_EQ(reconciler_.count, 0);
  EXPECT_EQ(api_.holder(), "other");
}

TEST_F(ManagerTest, CachesThatDoNotFillEndIt) {
  list_works_ = false;
  Manager manager({.sync_timeout = seconds(0)}, nullptr, Logger::Null());
  Run(manager);
  const absl::Status status = Join();
  EXPECT_EQ(status.code(), absl::StatusCode::kDeadlineExceeded);
  EXPECT_EQ(MessageOf(status), "no first state of nodes in time");
}

TEST_F(ManagerTest, ALostLeaseEndsItWithAnError) {
  LeaderElector quick(api_,
                      {.lease = {"ns", "l"},
                       .identity = "me",
                       .lease_duration = seconds(2),
                       .renew_deadline = seconds(1),
                       .retry_period = seconds(0)},
                      clock_, 1, Logger::Null());
  ON_CALL(api_, Update)
      .WillByDefault(
          [](const ObjectRef&, const Object&, const WriteOptions&) -> absl::StatusOr<Object> {
            return absl::AbortedError("taken");
          });
  Manager manager({}, &quick, Logger::Null());
  Run(manager);
  EXPECT_EQ(Join().code(), absl::StatusCode::kAborted);
}

TEST_F(ManagerTest, AReconcileThatDoesNotEndIsAnError) {
  reconciler_.block = true;
  Manager manager({.stop_timeout = seconds(0)}, nullptr, Logger::Null());
  Run(manager);
  UntilTrue([&] { return reconciler_.entered.load(); });
  stop_.request_stop();
  EXPECT_EQ(Join().code(), absl::StatusCode::kDeadlineExceeded);
  reconciler_.block = false;
}

}  // namespace
}  // namespace podcache::kube
