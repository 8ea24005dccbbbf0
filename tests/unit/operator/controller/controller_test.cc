#include "operator/controller/controller.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "operator/controller/operator_metrics.h"
#include "tests/unit/operator/client/mock_api_client.h"
#include "tests/unit/operator/controller/metric_reader.h"

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::Return;

class FakeReconciler final : public Reconciler {
 public:
  absl::StatusOr<Result> Reconcile(const Request& request) override {
    keys.push_back(request.key.ToString());
    return answer();
  }
  std::vector<std::string> keys;
  std::function<absl::StatusOr<Result>()> answer = [] { return Result{}; };
};

class ControllerTest : public testing::Test {
 protected:
  // "outcome count" of controller_runtime_reconcile_total.
  double Outcomes(const std::string& result) const {
    return ReadMetric(metrics_, "controller_runtime_reconcile_total",
                      {{"controller", "pod"}, {"result", result}});
  }
  double Counter(const std::string& name) const {
    return ReadMetric(metrics_, name, {{"controller", "pod"}});
  }

  ManualClock clock_;
  OperatorMetrics metrics_;
  FakeReconciler reconciler_;
  Controller controller_{{.name = "pod"}, reconciler_, clock_, metrics_, Logger::Null()};
};

TEST_F(ControllerTest, Success) {
  controller_.Enqueue({"shop", "a"});
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_FALSE(controller_.ProcessOne());
  EXPECT_EQ(reconciler_.keys, std::vector<std::string>{"shop/a"});
  EXPECT_EQ(Outcomes("success"), 1);
  EXPECT_EQ(controller_.queue().NextDelayed(), std::nullopt);
}

TEST_F(ControllerTest, RequeueAfterComesWhenDue) {
  reconciler_.answer = [] { return Result{.requeue_after = seconds(30)}; };
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_FALSE(controller_.ProcessOne());
  clock_.Advance(seconds(30));
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(Outcomes("requeue_after"), 2);
}

TEST_F(ControllerTest, AnErrorIsRetriedWithBackOffUntilItSucceeds) {
  reconciler_.answer = [] { return absl::UnavailableError("no"); };
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_FALSE(controller_.ProcessOne());
  clock_.Advance(milliseconds(5));
  EXPECT_TRUE(controller_.ProcessOne());
  clock_.Advance(milliseconds(5));
  EXPECT_FALSE(controller_.ProcessOne());
  reconciler_.answer = [] { return Result{}; };
  clock_.Advance(milliseconds(5));
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(controller_.queue().Failures("shop/a"), 0);
  EXPECT_EQ(Outcomes("error"), 2);
  EXPECT_EQ(Counter("controller_runtime_reconcile_errors_total"), 2);
  EXPECT_EQ(Counter("controller_runtime_terminal_reconcile_errors_total"), 0);
}

TEST_F(ControllerTest, ATerminalErrorIsCountedAndNotRetried) {
  reconciler_.answer = [] { return Terminal(absl::InvalidArgumentError("no")); };
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  clock_.Advance(std::chrono::hours(24));
  EXPECT_FALSE(controller_.ProcessOne());
  EXPECT_EQ(Outcomes("error"), 1);
  EXPECT_EQ(Counter("controller_runtime_reconcile_errors_total"), 1);
  EXPECT_EQ(Counter("controller_runtime_terminal_reconcile_errors_total"), 1);
}

TEST_F(ControllerTest, AnExceptionIsAnErrorAndAPanic) {
  reconciler_.answer = []() -> absl::StatusOr<Result> {
    return Result{.requeue_after = seconds(nlohmann::json::object().at("absent").get<int>())};
  };
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(Counter("controller_runtime_reconcile_panics_total"), 1);
  EXPECT_EQ(Outcomes("error"), 1);
  clock_.Advance(milliseconds(5));
  EXPECT_TRUE(controller_.ProcessOne());
}

TEST_F(ControllerTest, ADeadlineIsATimeout) {
  reconciler_.answer = [] { return absl::DeadlineExceededError("slow"); };
  controller_.Enqueue({"shop", "a"});
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(Counter("controller_runtime_reconcile_timeouts_total"), 1);
}

TEST_F(ControllerTest, TerminalKeepsTheError) {
  const absl::Status status = Terminal(absl::NotFoundError("x"));
  EXPECT_TRUE(IsTerminal(status));
  EXPECT_TRUE(IsTerminal(WithContext(status, "context")));
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_FALSE(IsTerminal(absl::NotFoundError("x")));
}

Object Pod(const std::string& name, const std::string& version, const std::string& owner) {
  return Object(nlohmann::json{{"metadata",
                                {{"namespace", "shop"},
                                 {"name", name},
                                 {"resourceVersion", version},
                                 {"labels", {{"owner", owner}}}}}});
}

TEST_F(ControllerTest, WatchesWakeOldAndNewOwner) {
  testing::NiceMock<MockApiClient> client;
  Informer informer(client, kPods, {}, {}, clock_, 1, Logger::Null());
  controller_.Watch(informer, MapByLabel("owner"), VersionChanged());
  EXPECT_CALL(client, List)
      .WillOnce(Return(ListPage{.items = {Pod("p", "1", "first")}, .resource_version = "1"}));
  EXPECT_CALL(client, Watch)
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions&,
                   const ApiClient::WatchHandler& handler, std::stop_token) {
        handler({WatchEventType::kModified, Pod("p", "1", "ignored")});
        handler({WatchEventType::kModified, Pod("p", "2", "second")});
        return absl::OkStatus();
      });
  informer.StepForTest();
  ASSERT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(reconciler_.keys, std::vector<std::string>{"shop/first"});
  informer.StepForTest();
  while (controller_.ProcessOne()) {
  }
  EXPECT_EQ(reconciler_.keys,
            (std::vector<std::string>{"shop/first", "shop/ignored", "shop/second"}));
}

TEST_F(ControllerTest, AMapperThatThrowsDoesNotEndTheInformer) {
  testing::NiceMock<MockApiClient> client;
  Informer informer(client, kPods, {}, {}, clock_, 1, Logger::Null());
  controller_.Watch(
      informer,
      [](const Object& object) -> std::vector<NamespacedName> {
        if (object.name() == "bad") throw std::runtime_error("shape");
        return {object.key()};
      },
      Always());
  EXPECT_CALL(client, List)
      .WillOnce(Return(
          ListPage{.items = {Pod("bad", "1", ""), Pod("good", "1", "")}, .resource_version = "1"}));
  informer.StepForTest();
  EXPECT_TRUE(controller_.ProcessOne());
  EXPECT_EQ(reconciler_.keys, std::vector<std::string>{"shop/good"});
}

// Under ThreadSanitizer.
TEST(ControllerThreadsTest, WorkersShareTheKeysAndStop) {
  class Counting final : public Reconciler {
   public:
    absl::StatusOr<Result> Reconcile(const Request&) override {
      ++count;
      return Result{};
    }
    std::atomic<int> count{0};
  };
  const SystemClock clock;
  OperatorMetrics metrics;
  Counting reconciler;
  Controller controller({.name = "pod", .workers = 3}, reconciler, clock, metrics, Logger::Null());
  controller.Start();
  for (int i = 0; i < 100; ++i) controller.Enqueue({"shop", std::to_string(i)});
  while (reconciler.count < 100) std::this_thread::yield();
  metrics.Collect();
  controller.RequestStop();
  EXPECT_TRUE(controller.Join(std::chrono::minutes(1)));
}

TEST(ControllerThreadsTest, JoinTellsOfABusyWorker) {
  class Blocking final : public Reconciler {
   public:
    absl::StatusOr<Result> Reconcile(const Request&) override {
      entered = true;
      while (!leave) std::this_thread::yield();
      return Result{};
    }
    std::atomic<bool> entered{false};
    std::atomic<bool> leave{false};
  };
  const SystemClock clock;
  OperatorMetrics metrics;
  Blocking reconciler;
  Controller controller({.name = "pod"}, reconciler, clock, metrics, Logger::Null());
  controller.Start();
  controller.Enqueue({"shop", "a"});
  while (!reconciler.entered) std::this_thread::yield();
  controller.RequestStop();
  EXPECT_FALSE(controller.Join(std::chrono::nanoseconds(0)));
  reconciler.leave = true;
  EXPECT_TRUE(controller.Join(std::chrono::minutes(1)));
}

}  // namespace
}  // namespace podcache::kube
