#include "operator/client/http_api_client.h"

#include <gtest/gtest.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <vector>

#include "operator/client/api_error.h"

namespace podcache::kube {
namespace {

// Answers from a list and keeps what was asked.
class FakeTransport final : public HttpTransport {
 public:
  absl::StatusOr<HttpResponse> Send(const HttpRequest& request) override {
    requests.push_back(request);
    return Next();
  }
  absl::StatusOr<HttpResponse> Stream(const HttpRequest& request, const StartHandler& on_start,
                                      const DataHandler& on_data, std::stop_token) override {
    requests.push_back(request);
    absl::StatusOr<HttpResponse> response = Next();
    if (!response.ok() || response->code != 200) return response;
    on_start(200);
    on_data(response->body);
    response->body.clear();
    return response;
  }
  std::string_view host() const override { return "api:443"; }

  std::vector<HttpRequest> requests;
  std::deque<absl::StatusOr<HttpResponse>> answers;

 private:
  absl::StatusOr<HttpResponse> Next() {
    absl::StatusOr<HttpResponse> answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }
};

class FakeObserver final : public RequestObserver {
 public:
  void OnRequest(std::string_view verb, std::string_view method, std::string_view host, int code,
                 std::chrono::nanoseconds) override {
    calls.push_back(std::string(verb) + " " + std::string(method) + " " + std::string(host) + " " +
                    std::to_string(code));
  }
  std::vector<std::string> calls;
};

class HttpApiClientTest : public testing::Test {
 protected:
  void Answer(int code, std::string body) {
    transport_.answers.emplace_back(HttpResponse{.code = code, .body = std::move(body)});
  }
  const HttpRequest& last() const { return transport_.requests.back(); }

  ManualClock clock_;
  FakeTransport transport_;
  FakeObserver observer_;
  HttpApiClient client_{transport_, clock_, &observer_};
  const ObjectRef pod_{.type = kPods, .ns = "shop", .name = "web-0"};
};

TEST_F(HttpApiClientTest, Get) {
  Answer(200, R"({"kind":"Pod","metadata":{"name":"web-0","managedFields":[1]}})");
  const auto object = client_.Get(pod_);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->Dump(), R"({"kind":"Pod","metadata":{"name":"web-0"}})");
  EXPECT_EQ(last().method, "GET");
  EXPECT_EQ(last().target, "/api/v1/namespaces/shop/pods/web-0");
  EXPECT_EQ(last().timeout, std::chrono::seconds(30));
  EXPECT_EQ(observer_.calls, std::vector<std::string>{"get GET api:443 200"});
}

TEST_F(HttpApiClientTest, ErrorsNameTheRequestAndKeepDetails) {
  Answer(
      404,
      R"({"kind":"Status","reason":"NotFound","message":"pods \"web-0\" not found","code":404})");
  const absl::Status status = client_.Get(pod_).status();
  EXPECT_TRUE(IsNotFound(status));
  EXPECT_EQ(MessageOf(status),
            "GET /api/v1/namespaces/shop/pods/web-0: HTTP 404 NotFound: pods \"web-0\" not found");
}

TEST_F(HttpApiClientTest, AConnectionErrorIsObservedWithoutCode) {
  transport_.answers.emplace_back(Unavailable("refused"));
  EXPECT_EQ(client_.Get(pod_).status().code(), absl::StatusCode::kUnavailable);
  EXPECT_EQ(observer_.calls, std::vector<std::string>{"get GET api:443 0"});
}

TEST_F(HttpApiClientTest, ListPagesAndFillsInTheKind) {
  Answer(200, R"({"kind":"PodList","metadata":{"resourceVersion":"7","continue":"tok/en="},
                  "items":[{"metadata":{"name":"a","managedFields":[]}}]})");
  Answer(200, R"({"metadata":{"resourceVersion":"7"},"items":[{"metadata":{"name":"b"}}]})");
  const auto all = ListAll(client_, kPods, "shop", {.label_selector = "app=web", .limit = 1});
  ASSERT_TRUE(all.ok());
  ASSERT_EQ(all->size(), 2u);
  EXPECT_EQ((*all)[0].Dump(), R"({"apiVersion":"v1","kind":"Pod","metadata":{"name":"a"}})");
  EXPECT_EQ(transport_.requests[0].target,
            "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb&limit=1");
  EXPECT_EQ(transport_.requests[1].target,
            "/api/v1/namespaces/shop/pods?labelSelector=app%3Dweb&limit=1&continue=tok%2Fen%3D");
}

TEST_F(HttpApiClientTest, AListWithoutItemsIsRefusedButNullIsEmpty) {
  Answer(200, R"({"kind":"PodList","metadata":{}})");
  EXPECT_EQ(client_.List(kPods, "", {}).status().code(), absl::StatusCode::kDataLoss);
  Answer(200, R"({"metadata":{"resourceVersion":"1"},"items":null})");
  EXPECT_TRUE(client_.List(kPods, "", {})->items.empty());
  Answer(200, "");
  EXPECT_EQ(client_.List(kPods, "", {}).status().code(), absl::StatusCode::kDataLoss);
}

TEST_F(HttpApiClientTest, CreateFillsInTheType) {
  Answer(201, R"({"metadata":{"name":"l"}})");
  const Object lease(nlohmann::json{{"metadata", {{"name", "l"}, {"namespace", "shop"}}}});
  ASSERT_TRUE(client_.Create(kLeases, lease, {.field_manager = "me", .dry_run = true}).ok());
  EXPECT_EQ(last().method, "POST");
  EXPECT_EQ(last().target,
            "/apis/coordination.k8s.io/v1/namespaces/shop/leases?fieldManager=me&dryRun=All");
  EXPECT_EQ(last().content_type, "application/json");
  const auto body = nlohmann::json::parse(last().body);
  EXPECT_EQ(body["apiVersion"], "coordination.k8s.io/v1");
  EXPECT_EQ(body["kind"], "Lease");
}

TEST_F(HttpApiClientTest, ApplyIsAForcedYamlPatch) {
  Answer(200, "{}");
  const Object service(nlohmann::json{{"apiVersion", "v1"}, {"kind", "Service"}});
  const ObjectRef ref{.type = kServices, .ns = "shop", .name = "s", .subresource = "status"};
  ASSERT_TRUE(client_.Apply(ref, service, {.field_manager = "podcache-operator"}).ok());
  EXPECT_EQ(last().method, "PATCH");
  EXPECT_EQ(last().target,
            "/api/v1/namespaces/shop/services/s/status?fieldManager=podcache-operator&force=true");
  EXPECT_EQ(last().content_type, "application/apply-patch+yaml");
  // Name and namespace are filled in: the API server insists on them.
  EXPECT_EQ(last().body,
            R"({"apiVersion":"v1","kind":"Service","metadata":{"name":"s","namespace":"shop"}})");
  EXPECT_EQ(observer_.calls, std::vector<std::string>{"apply PATCH api:443 200"});
  EXPECT_FALSE(client_.Apply(ref, service, {}).ok());  // Nothing is sent without a manager.
  EXPECT_EQ(transport_.requests.size(), 1u);
}

TEST_F(HttpApiClientTest, PatchTypes) {
  const nlohmann::json patch = {{"spec", nullptr}};
  const ObjectRef resize{.type = kPods, .ns = "shop", .name = "web-0", .subresource = "resize"};
  Answer(200, "{}");
  ASSERT_TRUE(client_.Patch(resize, PatchType::kStrategicMerge, patch, {}).ok());
  EXPECT_EQ(last().target, "/api/v1/namespaces/shop/pods/web-0/resize");
  EXPECT_EQ(last().content_type, "application/strategic-merge-patch+json");
  EXPECT_EQ(last().body, R"({"spec":null})");
  Answer(200, "{}");
  ASSERT_TRUE(client_.Patch(resize, PatchType::kMerge, patch, {}).ok());
  EXPECT_EQ(last().content_type, "application/merge-patch+json");
  Answer(200, "{}");
  ASSERT_TRUE(client_.Patch(resize, PatchType::kJson, nlohmann::json::array(), {}).ok());
  EXPECT_EQ(last().content_type, "application/json-patch+json");
}

TEST_F(HttpApiClientTest, DeleteWithPreconditions) {
  Answer(200, "{}");
  ASSERT_TRUE(
      client_.Delete(pod_, {.uid = "u1", .grace_period_seconds = 0, .propagation_policy = "Orphan"})
          .ok());
  EXPECT_EQ(last().method, "DELETE");
  EXPECT_EQ(nlohmann::json::parse(last().body),
            nlohmann::json::parse(
                R"({"apiVersion":"v1","kind":"DeleteOptions","preconditions":{"uid":"u1"},
                                      "gracePeriodSeconds":0,"propagationPolicy":"Orphan"})"));
}

TEST_F(HttpApiClientTest, NothingIsSentForNamesThatWouldReachSomethingElse) {
  const ObjectRef nameless{.type = kPods, .ns = "shop"};  // The whole collection.
  EXPECT_EQ(client_.Delete(nameless, {}).code(), absl::StatusCode::kInvalidArgument);
  EXPECT_FALSE(client_.Get({.type = kPods, .ns = "", .name = "a"}).ok());
  EXPECT_FALSE(client_.Get({.type = kPods, .ns = "shop", .name = "a/"}).ok());
  EXPECT_FALSE(client_.Update({.type = kPods, .ns = "..", .name = "a"}, Object(), {}).ok());
  EXPECT_FALSE(client_.Patch({.type = kNodes, .name = "."}, PatchType::kMerge, {}, {}).ok());
  EXPECT_FALSE(
      client_.Apply({.type = kNodes, .name = "a%2F"}, Object(), {.field_manager = "m"}).ok());
  EXPECT_FALSE(client_
                   .CreateSubresource({.type = kPods, .ns = "a", .name = "b", .subresource = "x/y"},
                                      Object(), {})
                   .ok());
  EXPECT_FALSE(client_.Create(kPods, Object(), {}).ok());
  EXPECT_FALSE(client_.List(kPods, "a/b", {}).ok());
  EXPECT_TRUE(transport_.requests.empty());
}

TEST_F(HttpApiClientTest, EvictionGoesThroughTheSubresource) {
  Answer(
      429,
      R"({"kind":"Status","reason":"TooManyRequests","code":429,"details":{"retryAfterSeconds":10}})");
  const absl::Status status = Evict(client_, {"shop", "web-0"}, "u1");
  EXPECT_TRUE(IsTooManyRequests(status));
  EXPECT_EQ(RetryAfter(status), std::chrono::seconds(10));
  EXPECT_EQ(last().target, "/api/v1/namespaces/shop/pods/web-0/eviction");
  const auto body = nlohmann::json::parse(last().body);
  EXPECT_EQ(body["kind"], "Eviction");
  EXPECT_EQ(body["deleteOptions"]["preconditions"]["uid"], "u1");
}

TEST_F(HttpApiClientTest, WatchStreamsEvents) {
  Answer(200, R"({"type":"ADDED","object":{"metadata":{"name":"a"}}})"
              "\n"
              R"({"type":"DELETED","object":{"metadata":{"name":"b"}}})"
              "\n");
  std::vector<std::string> names;
  ASSERT_TRUE(client_
                  .Watch(
                      kPods, "", {.label_selector = "x", .resource_version = "5"},
                      [&](const WatchEvent& event) {
                        names.emplace_back(event.object.name());
                        return true;
                      },
                      std::stop_token())
                  .ok());
  EXPECT_EQ(names, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(last().target,
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersion=5&timeoutSeconds=300"
            "&labelSelector=x");
  EXPECT_GT(last().timeout, std::chrono::seconds(300));
  EXPECT_EQ(observer_.calls, std::vector<std::string>{"watch GET api:443 200"});
}

TEST_F(HttpApiClientTest, AHandlerEndsTheWatch) {
  Answer(200, "{\"type\":\"ADDED\",\"object\":{}}\n{\"type\":\"ADDED\",\"object\":{}}\n");
  int events = 0;
  EXPECT_TRUE(client_
                  .Watch(
                      kPods, "", {},
                      [&](const WatchEvent&) {
                        ++events;
                        return false;
                      },
                      std::stop_token())
                  .ok());
  EXPECT_EQ(events, 1);
}

TEST_F(HttpApiClientTest, WatchListAsksForInitialEvents) {
  Answer(200, "");
  ASSERT_TRUE(client_
                  .Watch(
                      kPods, "", {.send_initial_events = true},
                      [](const WatchEvent&) { return true; }, std::stop_token())
                  .ok());
  EXPECT_EQ(last().target,
            "/api/v1/pods?watch=true&allowWatchBookmarks=true&resourceVersionMatch=NotOlderThan"
            "&sendInitialEvents=true&timeoutSeconds=300");
}

TEST_F(HttpApiClientTest, Version) {
  Answer(200, R"({"major":"1","minor":"35+","gitVersion":"v1.35.4"})");
  const auto version = client_.Version();
  ASSERT_TRUE(version.ok());
  EXPECT_EQ(version->minor, 35);
  EXPECT_TRUE(version->AtLeast(1, 33));
  EXPECT_TRUE(version->AtLeast(1, 35));
  EXPECT_FALSE(version->AtLeast(1, 36));
  EXPECT_FALSE(version->AtLeast(2, 0));
}

TEST_F(HttpApiClientTest, Discovery) {
  Answer(200, R"({"resources":[{"name":"pods"},{"name":"pods/resize"}]})");
  EXPECT_EQ(*IsServed(client_, "v1", "pods/resize"), true);
  EXPECT_EQ(last().target, "/api/v1");
  Answer(200, R"({"resources":[{"name":"pods"}]})");
  EXPECT_EQ(*IsServed(client_, "v1", "pods/resize"), false);
  Answer(404, "404 page not found");
  EXPECT_EQ(*IsServed(client_, "monitoring.coreos.com/v1", "podmonitors"), false);
  EXPECT_EQ(last().target, "/apis/monitoring.coreos.com/v1");
  Answer(503, "");
  EXPECT_FALSE(IsServed(client_, "v1", "pods").ok());
}

}  // namespace
}  // namespace podcache::kube
