#include "operator/client/resource.h"

#include <gtest/gtest.h>

namespace podcache::kube {
namespace {

TEST(ResourceTest, ApiVersionLeavesOutTheCoreGroup) {
  EXPECT_EQ(kPods.ApiVersion(), "v1");
  EXPECT_EQ(kStatefulSets.ApiVersion(), "apps/v1");
}

TEST(ResourceTest, PathsFollowTheApiConventions) {
  EXPECT_EQ(CollectionPath(kPods, "shop"), "/api/v1/namespaces/shop/pods");
  EXPECT_EQ(CollectionPath(kPods, ""), "/api/v1/pods");
  EXPECT_EQ(CollectionPath(kNodes, "ignored"), "/api/v1/nodes");
  EXPECT_EQ(CollectionPath(kLeases, "shop"), "/apis/coordination.k8s.io/v1/namespaces/shop/leases");
  EXPECT_EQ(ObjectPath({.type = kPods, .ns = "shop", .name = "web-0", .subresource = "resize"}),
            "/api/v1/namespaces/shop/pods/web-0/resize");
  EXPECT_EQ(ObjectPath({.type = kNodes, .name = "n1"}), "/api/v1/nodes/n1");
}

TEST(ResourceTest, EverySegmentIsEncoded) {
  EXPECT_EQ(ObjectPath({.type = kPods, .ns = "a/b", .name = "x?y#z %é"}),
            "/api/v1/namespaces/a%2Fb/pods/x%3Fy%23z%20%25%C3%A9");
  // RFC 3986 section 2.3.
  EXPECT_EQ(PercentEncode("AZaz09-._~"), "AZaz09-._~");
  EXPECT_EQ(PercentEncode(std::string_view("\0\xff", 2)), "%00%FF");
}

TEST(ResourceTest, NamesThatNoEncodingSaves) {
  for (const char* name : {"", ".", "..", "a/", "/", "a/b", "a%2Fb", "%"}) {
    EXPECT_FALSE(IsPathSegment(name)) << name;
  }
  for (const char* name : {"a", "...", "a..b", "é", "system:node:n1", "a?b#c"}) {
    EXPECT_TRUE(IsPathSegment(name)) << name;
  }
}

TEST(ResourceTest, ALongNameIsNeverCut) {
  const std::string name(5000, 'n');
  const std::string path = ObjectPath({.type = kPods, .ns = "shop", .name = name});
  EXPECT_EQ(path, "/api/v1/namespaces/shop/pods/" + name);
}

TEST(ResourceTest, QueryLeavesOutWhatIsEmpty) {
  EXPECT_EQ(QueryString({}), "");
  EXPECT_EQ(QueryString({{"a", ""}, {"b", "1"}, {"labelSelector", "app in (x,y)"}}),
            "?b=1&labelSelector=app%20in%20%28x%2Cy%29");
}

TEST(ResourceTest, KeysReadBack) {
  EXPECT_EQ(NamespacedName::Parse("shop/web").ToString(), "shop/web");
  EXPECT_EQ(NamespacedName::Parse("default").ns, "");
  EXPECT_EQ(NamespacedName::Parse("default").name, "default");
  EXPECT_EQ((NamespacedName{"shop", "web"}), NamespacedName::Parse("shop/web"));
}

}  // namespace
}  // namespace podcache::kube
