#include "operator/controller/event_mapper.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::kube {
namespace {

constexpr ResourceType kReplicaSets{"apps", "v1", "replicasets", "ReplicaSet", true};

Object Owned(const std::string& api_version, const std::string& kind, bool controller = true) {
  return Object(nlohmann::json{{"metadata",
                                {{"namespace", "shop"},
                                 {"name", "pod"},
                                 {"labels", {{"podcache.dev/sidecar", "web"}, {"empty", ""}}},
                                 {"ownerReferences",
                                  {{{"apiVersion", api_version},
                                    {"kind", kind},
                                    {"name", "own"},
                                    {"controller", controller}}}}}}});
}

TEST(EventMapperTest, Self) {
  const auto keys = MapToSelf()(Owned("v1", "X"));
  ASSERT_EQ(keys.size(), 1u);
  EXPECT_EQ(keys[0].ToString(), "shop/pod");
}

TEST(EventMapperTest, ControllerOfTheRightKindInAnyVersionOfItsGroup) {
  const EventMapper map = MapToController(kReplicaSets);
  EXPECT_EQ(map(Owned("apps/v1", "ReplicaSet")).at(0).ToString(), "shop/own");
  EXPECT_EQ(map(Owned("apps/v1beta2", "ReplicaSet")).at(0).ToString(), "shop/own");
  EXPECT_TRUE(map(Owned("other/v1", "ReplicaSet")).empty());
  EXPECT_TRUE(map(Owned("v1", "ReplicaSet")).empty());
  EXPECT_TRUE(map(Owned("apps/v1", "StatefulSet")).empty());
  EXPECT_TRUE(map(Owned("apps/v1", "ReplicaSet", false)).empty());
  EXPECT_TRUE(map(Object()).empty());
}

TEST(EventMapperTest, AClusterScopedControllerHasNoNamespace) {
  EXPECT_EQ(MapToController(kNodes)(Owned("v1", "Node")).at(0).ToString(), "own");
}

TEST(EventMapperTest, ByLabel) {
  const Object object = Owned("v1", "X");
  EXPECT_EQ(MapByLabel("podcache.dev/sidecar")(object).at(0).ToString(), "shop/web");
  EXPECT_TRUE(MapByLabel("empty")(object).empty());
  EXPECT_TRUE(MapByLabel("absent")(object).empty());
}

}  // namespace
}  // namespace podcache::kube
