// The client's verbs on a real API server.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "common/base/stop_wait.h"
#include "operator/client/api_error.h"
#include "tests/kube/support/api_server.h"

namespace podcache::kube {
namespace {

using nlohmann::json;

class ApiClientKubeTest : public testing::Test {
 protected:
  static Object ConfigMap(const std::string& ns, const std::string& name, const json& data) {
    return Object(json{{"metadata", {{"name", name}, {"namespace", ns}}}, {"data", data}});
  }
  static Object PodOf(const std::string& ns, const std::string& name, const json& labels) {
    return Object(json::parse(R"({"spec":{"containers":[{"name":"app","image":"none",
        "resources":{"requests":{"cpu":"100m","memory":"64Mi"},"limits":{"cpu":"100m","memory":"64Mi"}}}]}})")
                      .patch(json::array(
                          {{{"op", "add"},
                            {"path", "/metadata"},
                            {"value", {{"name", name}, {"namespace", ns}, {"labels", labels}}}}})));
  }
  ObjectRef Ref(const ResourceType& type, const std::string& name,
                const std::string& subresource = "") const {
    return {.type = type, .ns = ns_, .name = name, .subresource = subresource};
  }

  ApiServer server_;
  ApiClient& client_ = server_.admin();
  const std::string ns_ = server_.NewNamespace("client");
};

TEST_F(ApiClientKubeTest, CreateGetUpdateDelete) {
  const auto created = client_.Create(kConfigMaps, ConfigMap(ns_, "a", {{"k", "1"}}), {});
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_FALSE(created->uid().empty());
  EXPECT_FALSE(created->At({"metadata"}).contains("managedFields"));
  EXPECT_TRUE(
      IsAlreadyExists(client_.Create(kConfigMaps, ConfigMap(ns_, "a", {{"k", "1"}}), {}).status()));

  Object next = *client_.Get(Ref(kConfigMaps, "a"));
  next.mutable_json()["data"]["k"] = "2";
  const auto updated = client_.Update(Ref(kConfigMaps, "a"), next, {});
  ASSERT_TRUE(updated.ok()) << updated.status();
  EXPECT_EQ(updated->TextAt({"data", "k"}), "2");
  // The version that `next` carries is old now.
  EXPECT_TRUE(IsConflict(client_.Update(Ref(kConfigMaps, "a"), next, {}).status()));

  EXPECT_TRUE(IsConflict(client_.Delete(Ref(kConfigMaps, "a"), {.uid = "other"})));
  EXPECT_TRUE(client_.Delete(Ref(kConfigMaps, "a"), {.uid = std::string(created->uid())}).ok());
  EXPECT_TRUE(IsNotFound(client_.Get(Ref(kConfigMaps, "a")).status()));
  EXPECT_TRUE(IsNotFound(client_.Delete(Ref(kConfigMaps, "a"), {})));
}

TEST_F(ApiClientKubeTest, ADryRunLeavesNothing) {
  EXPECT_TRUE(client_.Create(kConfigMaps, ConfigMap(ns_, "dry", {}), {.dry_run = true}).ok());
  EXPECT_TRUE(IsNotFound(client_.Get(Ref(kConfigMaps, "dry")).status()));
}

TEST_F(ApiClientKubeTest, ApplyOwnsItsFieldsAndNoOthers) {
  const ObjectRef ref = Ref(kConfigMaps, "applied");
  const auto desired = [](const json& labels) {
    return Object(json{{"metadata", {{"labels", labels}}}, {"data", {{"k", "1"}}}});
  };
  ASSERT_TRUE(client_
                  .Apply(ref, desired({{"ours-a", "1"}, {"ours-b", "1"}}),
                         {.field_manager = "podcache-operator"})
                  .ok());
  ASSERT_TRUE(client_
                  .Patch(ref, PatchType::kMerge,
                         {{"metadata",
                           {{"labels", {{"foreign", "1"}}}, {"annotations", {{"foreign", "1"}}}}}},
                         {.field_manager = "kubectl-label"})
                  .ok());
  const auto applied =
      client_.Apply(ref, desired({{"ours-a", "2"}}), {.field_manager = "podcache-operator"});
  ASSERT_TRUE(applied.ok()) << applied.status();
  // What we no longer ask for is gone, what others set stays.
  EXPECT_EQ(applied->labels(),
            (std::map<std::string, std::string>{{"ours-a", "2"}, {"foreign", "1"}}));
  EXPECT_EQ(applied->annotation("foreign"), "1");
}

TEST_F(ApiClientKubeTest, ApplyOfTheSameWritesNothing) {
  const ObjectRef ref = Ref(kConfigMaps, "same");
  const Object desired(json{{"data", {{"k", "1"}}}});
  const auto first = client_.Apply(ref, desired, {.field_manager = "m"});
  const auto second = client_.Apply(ref, desired, {.field_manager = "m"});
  ASSERT_TRUE(second.ok()) << second.status();
  EXPECT_EQ(first->resource_version(), second->resource_version());
}

TEST_F(ApiClientKubeTest, ApplyWithoutForceConflictsWithAnotherManager) {
  const ObjectRef ref = Ref(kConfigMaps, "fought");
  ASSERT_TRUE(
      client_.Apply(ref, Object(json{{"data", {{"k", "1"}}}}), {.field_manager = "one"}).ok());
  const Object other(json{{"data", {{"k", "2"}}}});
  const absl::Status refused =
      client_.Apply(ref, other, {.field_manager = "two", .force = false}).status();
  EXPECT_TRUE(IsConflict(refused)) << refused;
  EXPECT_EQ(GetApiErrorDetails(refused)->causes.at(0).field, ".data.k");
  EXPECT_EQ(client_.Apply(ref, other, {.field_manager = "two"})->TextAt({"data", "k"}), "2");
}

TEST_F(ApiClientKubeTest, InvalidObjectsNameTheField) {
  const Object service(json{{"spec", {{"ports", {{{"port", 0}}}}}}});
  const absl::Status refused =
      client_.Apply(Ref(kServices, "s"), service, {.field_manager = "m"}).status();
  EXPECT_TRUE(IsInvalid(refused)) << refused;
  EXPECT_EQ(GetApiErrorDetails(refused)->causes.at(0).field, "spec.ports[0].port");
}

TEST_F(ApiClientKubeTest, ListsComeInPages) {
  for (int i = 0; i < 25; ++i) {
    ASSERT_TRUE(client_.Create(kConfigMaps, ConfigMap(ns_, "p" + std::to_string(i), {}), {}).ok());
  }
  const auto page = client_.List(kConfigMaps, ns_, {.limit = 10});
  ASSERT_TRUE(page.ok()) << page.status();
  EXPECT_EQ(page->items.size(), 10u);
  EXPECT_FALSE(page->continue_token.empty());
  EXPECT_EQ(page->items[0].kind(), "ConfigMap");
  EXPECT_EQ(ListAll(client_, kConfigMaps, ns_, {.limit = 10})->size(), 25u);
  EXPECT_EQ(ListAll(client_, kConfigMaps, ns_, {.field_selector = "metadata.name=p7"})->size(), 1u);
}

TEST_F(ApiClientKubeTest, StatusAndResizeAreSubresources) {
  ASSERT_TRUE(client_.Create(kPods, PodOf(ns_, "pod", {}), {}).ok());
  const auto status = client_.Patch(Ref(kPods, "pod", "status"), PatchType::kStrategicMerge,
                                    {{"status", {{"phase", "Running"}}}}, {});
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->TextAt({"status", "phase"}), "Running");

  const json resize = json::parse(R"({"spec":{"containers":[{"name":"app",
      "resources":{"requests":{"memory":"128Mi"},"limits":{"memory":"128Mi"}}}]}})");
  const auto resized =
      client_.Patch(Ref(kPods, "pod", "resize"), PatchType::kStrategicMerge, resize, {});
  ASSERT_TRUE(resized.ok()) << resized.status();
  const json& container = resized->At({"spec", "containers"}).at(0);
  EXPECT_EQ(container["resources"]["limits"]["memory"], "128Mi");
  EXPECT_EQ(container["resources"]["limits"]["cpu"], "100m");  // A strategic merge keeps the rest.
  // The same change on the pod itself is refused.
  EXPECT_TRUE(IsInvalid(client_
                            .Patch(Ref(kPods, "pod"), PatchType::kStrategicMerge,
                                   json::parse(R"({"spec":{"containers":[{"name":"app",
                        "resources":{"limits":{"memory":"256Mi"}}}]}})"),
                                   {})
                            .status()));
}

TEST_F(ApiClientKubeTest, APatchThatNamesAnotherUidIsRefused) {
  ASSERT_TRUE(client_.Create(kPods, PodOf(ns_, "pod", {}), {}).ok());
  const json patch = json::parse(R"({"metadata":{"uid":"00000000-0000-0000-0000-000000000000"}})");
  for (const char* subresource : {"", "resize"}) {
    const absl::Status status =
        client_.Patch(Ref(kPods, "pod", subresource), PatchType::kStrategicMerge, patch, {})
            .status();
    ASSERT_TRUE(IsInvalid(status)) << status;
    EXPECT_EQ(GetApiErrorDetails(status)->causes.at(0).field, "metadata.uid");
  }
}

TEST_F(ApiClientKubeTest, EvictionHonoursDisruptionBudgets) {
  ASSERT_TRUE(client_.Create(kPods, PodOf(ns_, "guarded", {{"app", "web"}}), {}).ok());
  ASSERT_TRUE(client_
                  .Patch(Ref(kPods, "guarded", "status"), PatchType::kStrategicMerge,
                         json::parse(R"({"status":{"phase":"Running",
                                "conditions":[{"type":"Ready","status":"True"}]}})"),
                         {})
                  .ok());
  const Object budget(
      json{{"metadata", {{"name", "b"}, {"namespace", ns_}}},
           {"spec", {{"minAvailable", 1}, {"selector", {{"matchLabels", {{"app", "web"}}}}}}}});
  ASSERT_TRUE(client_.Create(kPodDisruptionBudgets, budget, {}).ok());
  const absl::Status refused = Evict(client_, {ns_, "guarded"}, std::nullopt);
  EXPECT_TRUE(IsTooManyRequests(refused)) << refused;
  EXPECT_TRUE(RetryAfter(refused).has_value());

  const auto free = client_.Create(kPods, PodOf(ns_, "free", {}), {});
  EXPECT_TRUE(IsConflict(Evict(client_, {ns_, "free"}, "other-uid")));
  EXPECT_TRUE(Evict(client_, {ns_, "free"}, std::string(free->uid())).ok());
  EXPECT_TRUE(IsNotFound(client_.Get(Ref(kPods, "free")).status()));
}

TEST_F(ApiClientKubeTest, WatchSeesChangesInOrder) {
  const auto page = client_.List(kConfigMaps, ns_, {});
  std::vector<std::string> seen;
  std::jthread writer([this] {
    const ObjectRef ref = Ref(kConfigMaps, "w");
    EXPECT_TRUE(client_.Create(kConfigMaps, ConfigMap(ns_, "w", {}), {}).ok());
    EXPECT_TRUE(client_.Patch(ref, PatchType::kMerge, {{"data", {{"k", "é"}}}}, {}).ok());
    EXPECT_TRUE(client_.Delete(ref, {}).ok());
  });
  const absl::Status status = client_.Watch(
      kConfigMaps, ns_, {.resource_version = page->resource_version},
      [&](const WatchEvent& event) {
        const char* kind = event.type == WatchEventType::kAdded      ? "+"
                           : event.type == WatchEventType::kModified ? "~"
                                                                     : "-";
        seen.push_back(kind + std::string(event.object.TextAt({"data", "k"})));
        EXPECT_FALSE(event.object.At({"metadata"}).contains("managedFields"));
        return event.type != WatchEventType::kDeleted;
      },
      std::stop_token());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_EQ(seen, (std::vector<std::string>{"+", "~é", "-é"}));
}

// Changes elsewhere move the version on without an event for this watch: two seconds before the
// watch's end the server tells it by a bookmark.
TEST_F(ApiClientKubeTest, AWatchEndsByItsTimeoutAfterABookmark) {
  const auto page = client_.List(kConfigMaps, ns_, {});
  const std::string elsewhere = server_.NewNamespace("elsewhere");
  std::jthread writer([&](const std::stop_token& stop) {
    for (int i = 0; !WaitOrStop(stop, std::chrono::milliseconds(500)); ++i) {
      EXPECT_TRUE(
          client_.Create(kConfigMaps, ConfigMap(elsewhere, "c" + std::to_string(i), {}), {}).ok());
    }
  });
  int bookmarks = 0;
  const absl::Status status = client_.Watch(
      kConfigMaps, ns_,
      {.resource_version = page->resource_version, .timeout = std::chrono::seconds(10)},
      [&](const WatchEvent& event) {
        EXPECT_EQ(event.type, WatchEventType::kBookmark);
        EXPECT_GT(std::stoull(std::string(event.object.resource_version())),
                  std::stoull(page->resource_version));
        ++bookmarks;
        return true;
      },
      std::stop_token());
  EXPECT_TRUE(status.ok()) << status;
  EXPECT_GE(bookmarks, 1);
}

// From a known version on: to start at the newest one asks more of the etcd than every release has.
TEST_F(ApiClientKubeTest, AStopEndsASilentWatch) {
  const auto page = client_.List(kConfigMaps, ns_, {});
  std::jthread watcher([&](std::stop_token stop) {
    const absl::Status status = client_.Watch(
        kConfigMaps, ns_,
        {.resource_version = page->resource_version, .timeout = std::chrono::seconds(600)},
        [](const WatchEvent&) { return true; }, std::move(stop));
    EXPECT_EQ(status.code(), absl::StatusCode::kCancelled) << status;
  });
  ASSERT_TRUE(client_.Version().ok());
  watcher.request_stop();
  watcher.join();
}

TEST_F(ApiClientKubeTest, VersionAndDiscovery) {
  const auto version = client_.Version();
  ASSERT_TRUE(version.ok()) << version.status();
  EXPECT_TRUE(version->AtLeast(1, 29)) << version->git_version;
  EXPECT_TRUE(*IsServed(client_, "v1", "pods/resize"));
  EXPECT_TRUE(*IsServed(client_, "coordination.k8s.io/v1", "leases"));
  EXPECT_FALSE(*IsServed(client_, "v1", "pods/absent"));
  EXPECT_FALSE(*IsServed(client_, "absent.example.com/v1", "things"));
}

constexpr ResourceType kWidgets{"test.podcache.dev", "v1", "widgets", "Widget", true};

TEST_F(ApiClientKubeTest, ACustomResourceFromDefinitionToObject) {
  const Object definition(json::parse(R"({
      "metadata": {"name": "widgets.test.podcache.dev"},
      "spec": {"group": "test.podcache.dev", "scope": "Namespaced",
        "names": {"plural": "widgets", "singular": "widget", "kind": "Widget"},
        "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
          "schema": {"openAPIV3Schema": {"type": "object", "properties": {
            "spec": {"type": "object", "properties": {"size": {"type": "integer", "minimum": 1}}},
            "status": {"type": "object", "properties": {"seen": {"type": "integer"}}}}}}}]}})"));
  ASSERT_TRUE(client_.Create(kCustomResourceDefinitions, definition, {}).ok());
  const Object widget(
      json{{"metadata", {{"name", "w"}, {"namespace", ns_}}}, {"spec", {{"size", 3}}}});
  // Served within a second or so; until then it is not found.
  absl::StatusOr<Object> created = client_.Create(kWidgets, widget, {});
  for (int i = 0; i < 300 && IsNotFound(created.status()); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
    created = client_.Create(kWidgets, widget, {});
  }
  ASSERT_TRUE(created.ok()) << created.status();
  EXPECT_EQ(created->generation(), 1);
  const auto status =
      client_.Apply(Ref(kWidgets, "w", "status"), Object(json{{"status", {{"seen", 3}}}}),
                    {.field_manager = "podcache-operator-status"});
  ASSERT_TRUE(status.ok()) << status.status();
  EXPECT_EQ(status->json()["status"]["seen"], 3);
  EXPECT_EQ(status->generation(), 1);
  const absl::Status refused =
      client_.Patch(Ref(kWidgets, "w"), PatchType::kMerge, {{"spec", {{"size", 0}}}}, {}).status();
  EXPECT_TRUE(IsInvalid(refused)) << refused;
  EXPECT_TRUE(
      client_
          .Delete({.type = kCustomResourceDefinitions, .name = std::string(definition.name())}, {})
          .ok());
}

TEST_F(ApiClientKubeTest, IdentitiesAndTheirRights) {
  const Connection by_certificate(server_.Config("-cert"));
  EXPECT_TRUE(by_certificate.client->List(kNodes, "", {}).ok());

  RestConfig config = server_.Config();
  config.token.text = "wrong";
  EXPECT_TRUE(IsUnauthorized(Connection(config).client->List(kNodes, "", {}).status()));

  const Connection nobody(server_.Config("-operator"));
  EXPECT_TRUE(IsForbidden(nobody.client->List(kSecrets, ns_, {}).status()));
}

TEST_F(ApiClientKubeTest, TheServersCertificateIsChecked) {
  RestConfig config = server_.Config();
  config.ca = {};  // The system's authorities do not know this server.
  EXPECT_EQ(Connection(config).client->Version().status().code(),
            absl::StatusCode::kFailedPrecondition);
  config = server_.Config();
  config.tls_server_name = "elsewhere.example";
  EXPECT_EQ(Connection(config).client->Version().status().code(),
            absl::StatusCode::kFailedPrecondition);
  config.tls_server_name = "kubernetes.default.svc";
  EXPECT_TRUE(Connection(config).client->Version().ok());
  config = server_.Config();
  config.ca = {};
  config.insecure = true;
  EXPECT_TRUE(Connection(config).client->Version().ok());
}

TEST_F(ApiClientKubeTest, ANameNeverReachesAnotherObject) {
  ASSERT_TRUE(client_.Create(kConfigMaps, ConfigMap(ns_, "kept", {}), {}).ok());
  for (const char* name :
       {"../configmaps/kept", "kept/", "kept?x=y", "kept#", "./kept", "%6bept", "..", "."}) {
    EXPECT_FALSE(client_.Delete(Ref(kConfigMaps, name), {}).ok()) << name;
  }
  EXPECT_TRUE(client_.Get(Ref(kConfigMaps, "kept")).ok());
}

}  // namespace
}  // namespace podcache::kube
