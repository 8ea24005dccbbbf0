// Visits to running caches against a fake cache and a fake API server: what is asked, when, and
// what is remembered.
#include "operator/reconcile/pod_resizer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "common/status/status.h"
#include "operator/reconcile/event_recorder.h"
#include "operator/reconcile/our_objects.h"
#include "operator/reconcile/status_writer.h"
#include "tests/unit/operator/support/fake_api.h"

namespace podcache::control {
namespace {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kMi = 1ULL << 20;

// Caches by the uid of their pod; those that are not there do not answer.
class FakeNodes : public NodeClient {
 public:
  absl::StatusOr<NodeInfo> GetServerInfo(const NodeTarget& target) override {
    ++polls;
    const auto found = servers.find(target.pod_uid);
    if (found == servers.end()) return Unavailable(target.pod_name + ": connection refused");
    return found->second;
  }
  absl::StatusOr<NodeConfig> GetConfig(const NodeTarget& target) override {
    return servers[target.pod_uid].config;
  }
  absl::StatusOr<NodeConfig> SetMemory(const NodeTarget& target, std::uint64_t bytes) override {
    log.push_back("memory " + std::to_string(bytes / kMi));
    if (!refusal.ok()) return refusal;
    NodeConfig& config = servers[target.pod_uid].config;
    config.memory_target_bytes = config.memory_limit_bytes = bytes;
    return config;
  }
  absl::StatusOr<NodeConfig> SetThreads(const NodeTarget& target, std::uint32_t threads) override {
    log.push_back("threads " + std::to_string(threads));
    NodeConfig& config = servers[target.pod_uid].config;
    config.threads_target = config.threads_running = threads;
    return config;
  }
  absl::StatusOr<NodeStats> GetStats(const NodeTarget&) override { return NodeStats(); }
  void Forget(const std::string&) override {}

  std::map<std::string, NodeInfo> servers;
  std::atomic<int> polls{0};
  std::vector<std::string> log;
  absl::Status refusal;
};

class PodResizerTest : public ::testing::Test {
 protected:
  PodResizerTest() {
    sidecar_.metadata.name = "web-l1";
    sidecar_.metadata.namespace_name = "shop";
    sidecar_.metadata.generation = 1;
    sidecar_.spec.memory.size_bytes = 64 * kMi;
    clock_.Advance(seconds(1));
  }

  // A pod at 64Mi in 208Mi (built-in rule), with its server.
  void AddPod(const std::string& name) {
    PodView pod;
    pod.key = {"shop", name};
    pod.uid = "uid-" + name;
    pod.resource_version = "10";
    pod.ip = "10.0.0.1";
    pod.nonce = "n";
    pod.injected_by = "shop/web-l1";
    pod.has_container = pod.native = true;
    pod.container_id = "c1";
    pod.container.running = true;
    SetAmounts(pod, {208 * kMi, 208 * kMi, 50, 0});
    pods_.push_back(pod);
    NodeInfo info;
    info.architecture = "amd64";
    info.page_size_bytes = 4096;
    info.usable_cpus = 2;
    info.cgroup_memory_limit_bytes = 208 * kMi;
    info.resident_memory_bytes = 70 * kMi;
    info.config = {.memory_target_bytes = 64 * kMi,
                   .memory_limit_bytes = 64 * kMi,
                   .threads_target = 1,
                   .threads_running = 1,
                   .max_connections = 4096,
                   .max_item_size_bytes = kMi};
    nodes_.servers[pod.uid] = info;
    api_.Put({kube::kPods, "shop", name, ""},
             {{"metadata", {{"name", name}, {"namespace", "shop"}}}});
  }
  static void SetAmounts(PodView& pod, const ContainerAmounts& amounts) {
    pod.container.spec = amounts;
    pod.container.actual = amounts;
    pod.applied_resources = AppliedResourcesText(amounts);
  }
  // The kubelet and the API server did what was asked: all is in the pod, in a newer version.
  void Granted(std::size_t index, std::uint64_t limit_mi) {
    SetAmounts(pods_[index], {limit_mi * kMi, limit_mi * kMi, 50, 0});
    pods_[index].resource_version = "100000";
    nodes_.servers[pods_[index].uid].cgroup_memory_limit_bytes = limit_mi * kMi;
  }

  VisitResult Visit(seconds later = seconds(1)) {
    clock_.Advance(later);
    return resizer_.Visit({.sidecar = sidecar_, .rules = rules_, .pods = pods_, .log = log_});
  }
  std::vector<std::string> WritePaths() {
    std::vector<std::string> paths;
    for (const auto& write : api_.TakeWrites()) paths.push_back(write.verb + " " + write.path);
    return paths;
  }

  ManualClock clock_;
  const Logger log_ = Logger::Null();
  testing::FakeApi api_;
  FakeNodes nodes_;
  ResizeHistory history_;
  ResizeSlots slots_{2};
  ResizeSupport support_;
  PodResizer resizer_{api_,
                      nodes_,
                      history_,
                      slots_,
                      support_,
                      [](std::string_view) { return absl::StatusOr<std::string>("secret"); },
                      [](const std::string&) { return std::nullopt; },
                      clock_,
                      PodResizerOptions{}};
  CacheSidecar sidecar_;
  std::vector<sizing::Rule> rules_;
  std::vector<PodView> pods_;
};

TEST_F(PodResizerTest, SettledPodsAreLeftAloneAndSeldomAsked) {
  AddPod("a");
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kIdle);
  for (int i = 0; i < 10; ++i) EXPECT_EQ(Visit().pods[0].state, ResizeState::kIdle);
  EXPECT_EQ(nodes_.polls, 1);
  Visit(seconds(20));
  EXPECT_EQ(nodes_.polls, 2);
  EXPECT_THAT(nodes_.log, IsEmpty());
  EXPECT_THAT(WritePaths(), IsEmpty());
}

TEST_F(PodResizerTest, GrowsInOrderWithTwoWrites) {
  AddPod("a");
  Visit();
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kGrowing);
  EXPECT_THAT(WritePaths(), ElementsAre("patch /api/v1/namespaces/shop/pods/a/resize",
                                        "patch /api/v1/namespaces/shop/pods/a"));
  // The cache has not seen our write: nothing is decided on old news.
  const VisitResult blind = Visit();
  EXPECT_EQ(blind.pods[0].state, ResizeState::kGrowing);
  EXPECT_LE(blind.next_visit, milliseconds(500));
  EXPECT_THAT(WritePaths(), IsEmpty());
  EXPECT_THAT(nodes_.log, IsEmpty());
  Granted(0, 448);
  Visit();
  EXPECT_THAT(nodes_.log, ElementsAre("memory 256"));
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kIdle);
  EXPECT_THAT(WritePaths(), IsEmpty());
}

TEST_F(PodResizerTest, PatchNamesTheUidAndTheContainerOnly) {
  AddPod("a");
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  Visit();
  const auto writes = api_.TakeWrites();
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0].body,
            json::parse(R"({"metadata": {"uid": "uid-a"}, "spec": {"initContainers": [
    {"name": "podcache", "resources": {"limits": {"memory": "448Mi"}, "requests": {"cpu": "50m", "memory": "448Mi"}}}]}})"));
}

TEST_F(PodResizerTest, RefusedValueIsTriedOnceForEachGeneration) {
  AddPod("a");
  api_.intercept = [](const testing::FakeApi::Write& write) -> std::optional<absl::Status> {
    if (!write.path.ends_with("/resize")) return std::nullopt;
    return testing::FakeApi::HttpError(403, "Forbidden", "exceeded quota: mem");
  };
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  for (int i = 0; i < 5; ++i) {
    const VisitResult result = Visit();
    EXPECT_EQ(result.pods[0].state, ResizeState::kInfeasible);
    EXPECT_THAT(result.pods[0].message, HasSubstr("exceeded quota: mem"));
  }
  EXPECT_EQ(WritePaths().size(), 1U);
  sidecar_.metadata.generation = 2;
  Visit();
  EXPECT_EQ(WritePaths().size(), 1U);
  sidecar_.spec.memory.size_bytes = 64 * kMi;
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kIdle);
}

TEST_F(PodResizerTest, TransientFailureIsTriedAgain) {
  AddPod("a");
  bool fail = true;
  api_.intercept = [&](const testing::FakeApi::Write&) -> std::optional<absl::Status> {
    if (!fail) return std::nullopt;
    return testing::FakeApi::HttpError(503, "ServiceUnavailable", "later");
  };
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kGrowing);
  fail = false;
  Visit();
  EXPECT_EQ(WritePaths().size(), 3U);  // One failed, then resize and annotation.
}

TEST_F(PodResizerTest, MissingSubresourceIsNoticedOnce) {
  class OldApi : public testing::FakeApi {
   public:
    absl::StatusOr<std::vector<std::string>> Discover(std::string_view) override {
      return std::vector<std::string>{"pods"};
    }
  } old;
  old.intercept = [](const testing::FakeApi::Write&) {
    return testing::FakeApi::HttpError(404, "NotFound",
                                       "the server could not find the requested resource");
  };
  PodResizer resizer(
      old, nodes_, history_, slots_, support_,
      [](std::string_view) { return absl::StatusOr<std::string>("secret"); },
      [](const std::string&) { return std::nullopt; }, clock_, PodResizerOptions{});
  AddPod("a");
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  for (int i = 0; i < 3; ++i) {
    clock_.Advance(seconds(1));
    const VisitResult result =
        resizer.Visit({.sidecar = sidecar_, .rules = rules_, .pods = pods_, .log = log_});
    EXPECT_EQ(result.pods[0].state, ResizeState::kRestartRequired);
  }
  EXPECT_EQ(old.TakeWrites().size(), 1U);
}

// kubernetes.md 4, "container in a crash loop when its limit is raised".
TEST_F(PodResizerTest, CrashLoopThatOutlivesItsResizeIsRecreatedOnce) {
  sidecar_.spec.resize.mode = ResizeMode::kInPlaceOrRecreate;
  sidecar_.spec.resize.deferred_timeout = std::chrono::minutes(5);
  AddPod("a");
  Visit();
  nodes_.servers.clear();
  pods_[0].container.running = false;
  pods_[0].container.keeps_ending = true;
  EXPECT_EQ(Visit(std::chrono::hours(1)).pods[0].state, ResizeState::kError);
  EXPECT_THAT(WritePaths(), IsEmpty()) << "nobody asked for another size";

  sidecar_.spec.memory.size_bytes = 256 * kMi;
  Visit();
  EXPECT_THAT(WritePaths(), Contains("patch /api/v1/namespaces/shop/pods/a/resize"));
  SetAmounts(pods_[0], {448 * kMi, 448 * kMi, 50, 0});
  pods_[0].resource_version = "100000";
  Visit(seconds(298));
  EXPECT_THAT(WritePaths(), IsEmpty());
  const VisitResult result = Visit(seconds(2));
  EXPECT_EQ(result.pods[0].state, ResizeState::kError);
  EXPECT_THAT(WritePaths(), ElementsAre(HasSubstr("/pods/a/eviction")));

  // Its successor is born with the new size; that it ends too is another matter.
  pods_[0].uid = "uid-b";
  Visit(std::chrono::hours(1));
  EXPECT_THAT(WritePaths(), IsEmpty());
}

TEST_F(PodResizerTest, SilentServersAreAskedLessAndLess) {
  AddPod("a");
  nodes_.servers.clear();
  for (int i = 0; i < 60; ++i) {
    const VisitResult result = Visit();
    EXPECT_EQ(result.pods[0].state, ResizeState::kUnreachable);
    EXPECT_TRUE(result.pods[0].apply_failed);
    EXPECT_THAT(result.pods[0].message, HasSubstr("connection refused"));
  }
  // After 0.5, 1, 2, 4, 8, 16, 30 s.
  EXPECT_LE(nodes_.polls, 8);
  EXPECT_GE(nodes_.polls, 6);
}

TEST_F(PodResizerTest, RestartOfTheContainerIsSeenAtOnce) {
  AddPod("a");
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  Granted(0, 448);
  Visit();
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kIdle);
  nodes_.log.clear();
  pods_[0].container_id = "c2";
  nodes_.servers["uid-a"].config.memory_target_bytes = 64 * kMi;
  nodes_.servers["uid-a"].config.memory_limit_bytes = 64 * kMi;
  Visit(seconds(0));
  EXPECT_THAT(nodes_.log, ElementsAre("memory 256"));
}

TEST_F(PodResizerTest, AtMostSoManyPodsAtATimeAndOldWorkFirst) {
  for (const char* name : {"a", "b", "c"}) AddPod(name);
  Visit();
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  VisitResult result = Visit();
  EXPECT_EQ(WritePaths().size(), 4U) << "two pods, two writes each";
  EXPECT_THAT(result.pods[2].message, HasSubstr("other resizes"));
  EXPECT_EQ(result.pods[2].state, ResizeState::kGrowing);
  // "b" is done, "c" takes its place.
  Granted(1, 448);
  Visit();
  Visit();
  Visit();
  const auto writes = WritePaths();
  ASSERT_FALSE(writes.empty());
  EXPECT_EQ(writes[0], "patch /api/v1/namespaces/shop/pods/c/resize");
}

TEST_F(PodResizerTest, ServerThatRefusesAValueIsShown) {
  AddPod("a");
  nodes_.refusal = FailedPrecondition("the cgroup limit does not hold it");
  nodes_.servers["uid-a"].config.memory_target_bytes = 32 * kMi;
  const VisitResult result = Visit();
  EXPECT_EQ(result.pods[0].state, ResizeState::kError);
  EXPECT_TRUE(result.pods[0].apply_failed);
  EXPECT_THAT(result.pods[0].message, HasSubstr("does not hold it"));
  EXPECT_GE(result.next_visit, seconds(5));
}

TEST_F(PodResizerTest, UpdateRunningPodsOffChangesNothing) {
  AddPod("a");
  sidecar_.spec.update_running_pods = false;
  sidecar_.spec.memory.size_bytes = 256 * kMi;
  EXPECT_EQ(Visit().pods[0].state, ResizeState::kRestartRequired);
  EXPECT_THAT(WritePaths(), IsEmpty());
}

TEST_F(PodResizerTest, MissingAnnotationIsMendedOnceSettled) {
  AddPod("a");
  pods_[0].applied_resources.clear();
  Visit();
  EXPECT_THAT(WritePaths(), ElementsAre("patch /api/v1/namespaces/shop/pods/a"));
}

TEST(ResizeHistoryTest, PodsThatAreGoneAreForgotten) {
  ResizeHistory history;
  PodMemory memory;
  memory.container_id = "x";
  history.Put("u1", memory);
  memory.container_id = "y";
  history.Put("u2", memory);
  EXPECT_THAT(history.Retain("shop/web", {"u1", "u2"}), IsEmpty());
  EXPECT_THAT(history.Retain("shop/web", {"u2"}), ElementsAre("u1"));
  EXPECT_EQ(history.Get("u1").container_id, "");
  EXPECT_EQ(history.Get("u2").container_id, "y");
}

TEST(StatusWriterTest, WritesOnlyDifferencesAndNotTooOften) {
  ManualClock clock;
  clock.Advance(seconds(10));
  testing::FakeApi api;
  StatusWriter writer(api, clock);
  const kube::Object live(json::parse(
      R"({"metadata": {"name": "a", "namespace": "n", "uid": "u", "resourceVersion": "1"}, "status": {"x": 1}})"));
  EXPECT_EQ(*writer.Write(kCacheSidecars, live, {{"x", 1}}, {{"x", 1}}), seconds(0));
  EXPECT_THAT(api.TakeWrites(), IsEmpty());
  EXPECT_EQ(*writer.Write(kCacheSidecars, live, {{"x", 1}}, {{"x", 2}}), seconds(0));
  const auto writes = api.TakeWrites();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].path, "/apis/podcache.dev/v1alpha1/namespaces/n/cachesidecars/a/status");
  // The cache still shows the old one: our own write counts.
  EXPECT_EQ(*writer.Write(kCacheSidecars, live, {{"x", 1}}, {{"x", 2}}), seconds(0));
  EXPECT_THAT(api.TakeWrites(), IsEmpty());
  EXPECT_EQ(*writer.Write(kCacheSidecars, live, {{"x", 1}}, {{"x", 3}}), seconds(1));
  EXPECT_THAT(api.TakeWrites(), IsEmpty());
  clock.Advance(seconds(1));
  EXPECT_EQ(*writer.Write(kCacheSidecars, live, {{"x", 1}}, {{"x", 3}}), seconds(0));
  EXPECT_EQ(api.TakeWrites().size(), 1U);
}

TEST(EventRecorderTest, RepeatedEventBecomesASeries) {
  ManualClock clock;
  testing::FakeApi api;
  EventRecorder recorder(api, "host", clock, Logger::Null());
  const EventObject regarding{"podcache.dev/v1alpha1", "CacheSidecar", "shop", "web-l1", "u"};
  const EventText text{
      .warning = true, .reason = "ResizeDeferred", .action = "Resize", .note = "no room"};
  recorder.Record(regarding, nullptr, text);
  recorder.Record(regarding, nullptr, text);
  auto writes = api.TakeWrites();
  ASSERT_EQ(writes.size(), 2U);
  EXPECT_EQ(writes[0].verb, "create");
  EXPECT_EQ(writes[0].body["type"], "Warning");
  EXPECT_EQ(writes[0].body["eventTime"], "2023-11-14T22:13:20.000000Z");  // 1700000000
  EXPECT_EQ(writes[1].verb, "patch");
  EXPECT_EQ(writes[1].body["series"]["count"], 2);
  clock.Advance(std::chrono::minutes(11));
  recorder.Record(regarding, nullptr, text);
  writes = api.TakeWrites();
  ASSERT_EQ(writes.size(), 1U);
  EXPECT_EQ(writes[0].verb, "create");
}

}  // namespace
}  // namespace podcache::control
