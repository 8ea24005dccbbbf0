// Informer and reflector on a client without a wire; the faults of the wire are in
// reflector_wire_test.
#include "operator/cache/informer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <nlohmann/json.hpp>

#include "tests/unit/operator/client/mock_api_client.h"

namespace podcache::kube {
namespace {

using testing::_;
using testing::Return;

Object Pod(const std::string& name, const std::string& version, const std::string& phase = "") {
  return Object(nlohmann::json{
      {"metadata", {{"namespace", "shop"}, {"name", name}, {"resourceVersion", version}}},
      {"status", {{"phase", phase}}}});
}

ListPage Page(std::vector<Object> items, std::string version, std::string next = "") {
  return {.items = std::move(items),
          .resource_version = std::move(version),
          .continue_token = std::move(next)};
}

class InformerTest : public testing::Test {
 protected:
  void Listen(Informer& informer) {
    informer.AddHandler([this](const InformerEvent& event) {
      const auto text = [](const ObjectPtr& object) {
        return object == nullptr ? std::string("-") : std::string(object->resource_version());
      };
      events_.push_back(std::string(event.object().name()) + ":" + text(event.before) + ">" +
                        text(event.after) + (event.resync() ? " resync" : ""));
    });
  }
  std::vector<std::string> TakeEvents() { return std::exchange(events_, {}); }
  using Strings = std::vector<std::string>;

  ManualClock clock_;
  testing::StrictMock<MockApiClient> client_;
  Strings events_;
};

TEST_F(InformerTest, ListsInPagesThenWatchesFromTheListsVersion) {
  Informer informer(client_, kPods, {.ns = "shop", .label_selector = "app"}, {}, clock_, 1,
                    Logger::Null());
  Listen(informer);
  EXPECT_CALL(client_, List(_, testing::Eq("shop"), _))
      .WillOnce([](const ResourceType& type, std::string_view, const ListOptions& options) {
        EXPECT_EQ(type.plural, "pods");
        EXPECT_EQ(options.label_selector, "app");
        EXPECT_EQ(options.limit, 500);
        EXPECT_EQ(options.continue_token, "");
        return Page({Pod("a", "1")}, "10", "more");
      })
      .WillOnce([](const ResourceType&, std::string_view, const ListOptions& options) {
        EXPECT_EQ(options.continue_token, "more");
        return Page({Pod("b", "2")}, "10");
      });
  EXPECT_FALSE(informer.HasSynced());
  EXPECT_EQ(informer.StepForTest(), std::chrono::nanoseconds(0));
  EXPECT_TRUE(informer.HasSynced());
  EXPECT_EQ(TakeEvents(), (Strings{"a:->1", "b:->2"}));

  EXPECT_CALL(client_, Watch(_, testing::Eq("shop"), _, _, _))
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions& options,
                   const ApiClient::WatchHandler& handler, std::stop_token) {
        EXPECT_EQ(options.resource_version, "10");
        EXPECT_EQ(options.label_selector, "app");
        EXPECT_GE(options.timeout, std::chrono::seconds(300));
        EXPECT_LE(options.timeout, std::chrono::seconds(600));
        EXPECT_TRUE(handler({WatchEventType::kModified, Pod("a", "11")}));
        EXPECT_TRUE(handler({WatchEventType::kDeleted, Pod("b", "12")}));
        EXPECT_TRUE(handler({WatchEventType::kAdded, Pod("c", "13")}));
        return absl::OkStatus();
      })
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions& options,
                   const ApiClient::WatchHandler&, std::stop_token) {
        EXPECT_EQ(options.resource_version, "13");
        return absl::OkStatus();
      });
  informer.StepForTest();
  EXPECT_EQ(TakeEvents(), (Strings{"a:1>11", "b:2>-", "c:->13"}));
  EXPECT_EQ(informer.store().size(), 2u);
  informer.StepForTest();
}

TEST_F(InformerTest, TransformSeesEveryObject) {
  Informer informer(client_, kPods,
                    {.transform = [](Object& object) { object.mutable_json().erase("status"); }},
                    {}, clock_, 1, Logger::Null());
  EXPECT_CALL(client_, List).WillOnce(Return(Page({Pod("a", "1", "Running")}, "1")));
  EXPECT_CALL(client_, Watch)
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions&,
                   const ApiClient::WatchHandler& handler, std::stop_token) {
        handler({WatchEventType::kAdded, Pod("b", "2", "Running")});
        return absl::OkStatus();
      });
  informer.StepForTest();
  informer.StepForTest();
  for (const ObjectPtr& object : informer.store().List()) {
    EXPECT_FALSE(object->json().contains("status"));
  }
  EXPECT_EQ(informer.store().size(), 2u);
}

TEST_F(InformerTest, ResyncTellsOfEveryObjectAnew) {
  Informer informer(client_, kPods, {}, {.resync = std::chrono::hours(10)}, clock_, 1,
                    Logger::Null());
  Listen(informer);
  EXPECT_CALL(client_, List).WillOnce(Return(Page({Pod("a", "1"), Pod("b", "2")}, "2")));
  EXPECT_CALL(client_, Watch).WillRepeatedly(Return(absl::OkStatus()));
  informer.StepForTest();
  TakeEvents();
  clock_.Advance(std::chrono::hours(10) - std::chrono::nanoseconds(1));
  informer.StepForTest();
  EXPECT_TRUE(TakeEvents().empty());
  clock_.Advance(std::chrono::nanoseconds(1));
  informer.StepForTest();
  EXPECT_EQ(TakeEvents(), (Strings{"a:1>1 resync", "b:2>2 resync"}));
  informer.StepForTest();
  EXPECT_TRUE(TakeEvents().empty());
}

TEST_F(InformerTest, ADeleteOfWhatWasNeverSeenIsNoEvent) {
  Informer informer(client_, kPods, {}, {}, clock_, 1, Logger::Null());
  Listen(informer);
  EXPECT_CALL(client_, List).WillOnce(Return(Page({}, "1")));
  EXPECT_CALL(client_, Watch)
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions&,
                   const ApiClient::WatchHandler& handler, std::stop_token) {
        handler({WatchEventType::kDeleted, Pod("x", "2")});
        return absl::OkStatus();
      });
  informer.StepForTest();
  informer.StepForTest();
  EXPECT_TRUE(TakeEvents().empty());
}

TEST_F(InformerTest, SyncTimesOutAndStops) {
  Informer informer(client_, kPods, {}, {}, clock_, 1, Logger::Null());
  EXPECT_FALSE(informer.WaitForSync(std::chrono::nanoseconds(0), std::stop_token()));
  std::stop_source stop;
  stop.request_stop();
  EXPECT_FALSE(informer.WaitForSync(std::chrono::hours(1), stop.get_token()));
}

// Under ThreadSanitizer: the informer's own thread, with a watch that only its stop ends.
TEST_F(InformerTest, RunsAndStops) {
  Informer informer(client_, kPods, {}, {}, clock_, 1, Logger::Null());
  std::atomic<int> heard{0};
  informer.AddHandler([&](const InformerEvent&) { ++heard; });
  EXPECT_CALL(client_, List).WillOnce(Return(Page({Pod("a", "1")}, "1")));
  EXPECT_CALL(client_, Watch)
      .WillOnce([](const ResourceType&, std::string_view, const WatchOptions&,
                   const ApiClient::WatchHandler& handler, std::stop_token stop) {
        handler({WatchEventType::kModified, Pod("a", "2")});
        while (!stop.stop_requested()) std::this_thread::yield();
        return absl::CancelledError("stopped");
      });
  informer.Start();
  EXPECT_TRUE(informer.WaitForSync(std::chrono::minutes(1), std::stop_token()));
  while (heard < 2) std::this_thread::yield();
  informer.Stop();
  informer.Stop();
  EXPECT_EQ(informer.store().Get({"shop", "a"})->resource_version(), "2");
}

}  // namespace
}  // namespace podcache::kube
