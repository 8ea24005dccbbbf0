// Reflector, informer, leader election and controller on a real API server.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "operator/cache/informer.h"
#include "operator/client/api_error.h"
#include "operator/controller/controller.h"
#include "operator/controller/operator_metrics.h"
#include "operator/manager/leader_elector.h"
#include "operator/manager/manager.h"
#include "tests/kube/support/api_server.h"

namespace podcache::kube {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// Real time goes by here: a real server answers when it answers. False after a minute.
bool Eventually(const std::function<bool()>& condition) {
  for (int i = 0; i < 1200; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(50));
  }
  return false;
}

class MachineryKubeTest : public testing::Test {
 protected:
  void CreateConfigMap(const std::string& name, const json& labels = json::object()) {
    const Object object(
        json{{"metadata", {{"name", name}, {"namespace", ns_}, {"labels", labels}}}});
    const auto created = client_.Create(kConfigMaps, object, {});
    EXPECT_TRUE(created.ok()) << created.status();
  }
  // Of events.k8s.io: the API server keeps no watch cache of them, so etcd itself answers watches.
  void CreateEvent(const std::string& name) {
    const Object event(
        json{{"metadata", {{"name", name}, {"namespace", ns_}}},
             {"eventTime", "2026-11-30T10:00:00.000000Z"},
             {"reportingController", "podcache.dev/test"},
             {"reportingInstance", "test"},
             {"action", "Test"},
             {"reason", "Test"},
             {"type", "Normal"},
             {"regarding", {{"kind", "Namespace"}, {"name", ns_}, {"namespace", ns_}}}});
    const auto created = client_.Create(kEvents, event, {});
    EXPECT_TRUE(created.ok()) << created.status();
  }
  ObjectRef Ref(const ResourceType& type, const std::string& name) const {
    return {.type = type, .ns = ns_, .name = name};
  }

  ApiServer server_;
  ApiClient& client_ = server_.admin();
  const std::string ns_ = server_.NewNamespace("machinery");
  SystemClock clock_;
  Logger log_ = Logger::Null();
};

TEST_F(MachineryKubeTest, AReflectorSurvivesACompaction) {
  Informer informer(client_, kEvents, {.ns = ns_}, {}, clock_, 1, log_);
  std::vector<std::string> events;
  informer.AddHandler([&](const InformerEvent& event) {
    events.push_back((event.after == nullptr ? "-" : "+") + std::string(event.object().name()));
  });
  CreateEvent("first");
  CreateEvent("second");
  informer.StepForTest();
  EXPECT_EQ(events, (std::vector<std::string>{"+first", "+second"}));

  // History that the next watch would need goes away before it starts.
  ASSERT_TRUE(client_.Delete(Ref(kEvents, "first"), {}).ok());
  CreateEvent("third");
  server_.CompactEtcd();
  EXPECT_EQ(informer.StepForTest(), std::chrono::nanoseconds(0));  // 410: list at once …
  EXPECT_EQ(informer.StepForTest(), std::chrono::nanoseconds(0));  // … which this is.
  EXPECT_EQ(events, (std::vector<std::string>{"+first", "+second", "-first", "+third"}));
}

TEST_F(MachineryKubeTest, APagedListSurvivesACompaction) {
  for (int i = 0; i < 6; ++i) CreateEvent("e" + std::to_string(i));
  const auto page = client_.List(kEvents, ns_, {.limit = 2});
  ASSERT_TRUE(page.ok());
  CreateEvent("later");
  server_.CompactEtcd();
  const absl::Status expired =
      client_.List(kEvents, ns_, {.limit = 2, .continue_token = page->continue_token}).status();
  EXPECT_TRUE(IsGone(expired)) << expired;
}

class InformerKubeTest : public MachineryKubeTest, public testing::WithParamInterface<bool> {};

TEST_P(InformerKubeTest, FollowsARunningServer) {
  CreateConfigMap("before", {{"watched", "yes"}});
  CreateConfigMap("other", {{"watched", "no"}});
  Informer informer(client_, kConfigMaps,
                    {.ns = ns_, .label_selector = "watched=yes", .use_watch_list = GetParam()}, {},
                    clock_, 1, log_);
  std::atomic<int> added{0};
  std::atomic<int> deleted{0};
  informer.AddHandler([&](const InformerEvent& event) {
    if (event.before == nullptr) ++added;
    if (event.after == nullptr) ++deleted;
  });
  informer.Start();
  // With Debian's etcd 3.4.23 the API server refuses the WatchList, and the informer lists.
  ASSERT_TRUE(informer.WaitForSync(seconds(60), std::stop_token()));
  EXPECT_EQ(informer.store().size(), 1u);
  CreateConfigMap("after", {{"watched", "yes"}});
  EXPECT_TRUE(Eventually([&] { return added == 2; }));
  // Out of the selector is out of the cache.
  ASSERT_TRUE(client_
                  .Patch(Ref(kConfigMaps, "before"), PatchType::kMerge,
                         {{"metadata", {{"labels", {{"watched", "no"}}}}}}, {})
                  .ok());
  ASSERT_TRUE(client_.Delete(Ref(kConfigMaps, "after"), {}).ok());
  EXPECT_TRUE(Eventually([&] { return deleted == 2; }));
  EXPECT_EQ(informer.store().size(), 0u);
  informer.Stop();
}

INSTANTIATE_TEST_SUITE_P(ListAndWatchList, InformerKubeTest, testing::Bool());

TEST_F(MachineryKubeTest, OneOfTwoElectorsLeads) {
  const auto options = [&](const char* identity) {
    return LeaderElectorOptions{.lease = {ns_, "operator"}, .identity = identity};
  };
  LeaderElector a(client_, options("a"), clock_, 1, log_);
  LeaderElector b(client_, options("b"), clock_, 2, log_);
  EXPECT_EQ(a.Step(), Leadership::kLeading);
  EXPECT_EQ(b.Step(), Leadership::kStandby);
  EXPECT_EQ(a.Step(), Leadership::kLeading);
  EXPECT_EQ(b.Step(), Leadership::kStandby);
  std::atomic<bool> b_leads{false};
  std::jthread waiter([&](const std::stop_token& stop) { b_leads = b.Acquire(stop); });
  a.Release();
  EXPECT_TRUE(Eventually([&] { return b_leads.load(); }));  // Without waiting for the 15 s.
  const auto lease = client_.Get(Ref(kLeases, "operator"));
  EXPECT_EQ(lease->TextAt({"spec", "holderIdentity"}), "b");
  EXPECT_EQ(lease->At({"spec", "leaseTransitions"}), 1);
  EXPECT_EQ(a.Step(), Leadership::kLost);
}

TEST_F(MachineryKubeTest, OfManyAtOnceOneTakesTheLease) {
  std::atomic<int> leaders{0};
  std::vector<std::jthread> threads;
  for (int i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      LeaderElector elector(client_, {.lease = {ns_, "race"}, .identity = "e" + std::to_string(i)},
                            clock_, static_cast<std::uint64_t>(i), log_);
      if (elector.Step() == Leadership::kLeading) ++leaders;
    });
  }
  threads.clear();
  EXPECT_EQ(leaders, 1);
}

TEST_F(MachineryKubeTest, AnExpiredLeaseIsTakenOver) {
  const LeaderElectorOptions quick{.lease = {ns_, "quick"},
                                   .identity = "a",
                                   .lease_duration = seconds(2),
                                   .renew_deadline = seconds(1),
                                   .retry_period = seconds(1)};
  LeaderElectorOptions other = quick;
  other.identity = "b";
  LeaderElector a(client_, quick, clock_, 1, log_);
  LeaderElector b(client_, other, clock_, 2, log_);
  ASSERT_EQ(a.Step(), Leadership::kLeading);  // And is never heard of again.
  std::stop_source stop;
  EXPECT_TRUE(b.Acquire(stop.get_token()));
  EXPECT_EQ(a.Step(), Leadership::kLost);
}

// Copies a label into an annotation by server-side apply, reading only from the store.
class CopyingReconciler final : public Reconciler {
 public:
  CopyingReconciler(ApiClient& client, const ObjectStore& store) : client_(client), store_(store) {}

  absl::StatusOr<Result> Reconcile(const Request& request) override {
    const ObjectPtr object = store_.Get(request.key);
    if (object == nullptr) return Result{};
    const std::string wanted(object->label("value").value_or(""));
    if (object->annotation("copy") == wanted) {
      const std::lock_guard<std::mutex> guard(mutex_);
      settled_[request.key.name] = wanted;
      return Result{};
    }
    ++writes;
    const Object desired(json{{"metadata", {{"annotations", {{"copy", wanted}}}}}});
    PODCACHE_RETURN_IF_ERROR(
        client_
            .Apply({.type = kConfigMaps, .ns = request.key.ns, .name = request.key.name}, desired,
                   {.field_manager = "copier"})
            .status());
    return Result{};
  }

  // Whether the store has shown it its own write. Before that, an event that finds a newer object
  // in the store writes once for both, and the second may write again.
  bool Settled(const std::string& name, const std::string& value) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = settled_.find(name);
    return found != settled_.end() && found->second == value;
  }

  std::atomic<int> writes{0};

 private:
  ApiClient& client_;
  const ObjectStore& store_;
  std::mutex mutex_;
  std::map<std::string, std::string> settled_;
};

TEST_F(MachineryKubeTest, AnOperatorInSmall) {
  OperatorMetrics metrics;
  Informer informer(client_, kConfigMaps, {.ns = ns_, .label_selector = "value"}, {}, clock_, 1,
                    log_);
  CopyingReconciler reconciler(client_, informer.store());
  Controller controller({.name = "copier"}, reconciler, clock_, metrics, log_);
  controller.Watch(informer, MapToSelf(), SpecOrMetadataChanged());
  const Connection own(server_.Config(), seconds(5));
  LeaderElector elector(*own.client, {.lease = {ns_, "copier"}, .identity = "me"}, clock_, 1, log_);
  Manager manager({}, &elector, log_);
  manager.Add(informer);
  manager.Add(controller);
  CreateConfigMap("a", {{"value", "1"}});
  std::stop_source stop;
  absl::Status result;
  std::thread runner([&] { result = manager.Run(stop.get_token()); });

  const auto copied = [&](const std::string& name, const std::string& value) {
    return Eventually([&] { return reconciler.Settled(name, value); }) &&
           client_.Get(Ref(kConfigMaps, name))->annotation("copy") == value;
  };
  EXPECT_TRUE(copied("a", "1"));
  CreateConfigMap("b", {{"value", "x"}});
  EXPECT_TRUE(copied("b", "x"));
  ASSERT_TRUE(client_
                  .Patch(Ref(kConfigMaps, "a"), PatchType::kMerge,
                         {{"metadata", {{"labels", {{"value", "2"}}}}}}, {})
                  .ok());
  EXPECT_TRUE(copied("a", "2"));
  stop.request_stop();
  runner.join();
  EXPECT_TRUE(result.ok()) << result;
  EXPECT_EQ(reconciler.writes, 3);  // One per change: its own writes wake it and change nothing.
  EXPECT_EQ(client_.Get(Ref(kLeases, "copier"))->TextAt({"spec", "holderIdentity"}), "");
}

}  // namespace
}  // namespace podcache::kube
