#include "operator/client/object.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::kube {
namespace {

constexpr char kPod[] = R"({
  "apiVersion": "v1", "kind": "Pod",
  "metadata": {
    "name": "web-0", "namespace": "shop", "uid": "u1", "resourceVersion": "42", "generation": 3,
    "creationTimestamp": "2026-11-30T10:00:00Z",
    "labels": {"app": "web"}, "annotations": {"note": "é"},
    "managedFields": [{"manager": "kubectl"}],
    "ownerReferences": [
      {"apiVersion": "v1", "kind": "Node", "name": "n", "uid": "u2"},
      {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u3", "controller": true}]
  },
  "status": {"phase": "Running"}})";

TEST(ObjectTest, ReadsMetadata) {
  const auto object = Object::Parse(kPod);
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->api_version(), "v1");
  EXPECT_EQ(object->kind(), "Pod");
  EXPECT_EQ(object->key().ToString(), "shop/web-0");
  EXPECT_EQ(object->uid(), "u1");
  EXPECT_EQ(object->resource_version(), "42");
  EXPECT_EQ(object->generation(), 3);
  EXPECT_EQ(object->creation_timestamp(), "2026-11-30T10:00:00Z");
  EXPECT_FALSE(object->being_deleted());
  EXPECT_EQ(object->label("app"), "web");
  EXPECT_EQ(object->label("none"), std::nullopt);
  EXPECT_EQ(object->annotation("note"), "é");
  EXPECT_EQ(object->labels(), (std::map<std::string, std::string>{{"app", "web"}}));
  EXPECT_EQ(object->TextAt({"status", "phase"}), "Running");
  EXPECT_TRUE(object->At({"status", "phase", "deeper"}).is_null());
}

TEST(ObjectTest, TheControllerIsTheMarkedOwner) {
  const auto owner = Object::Parse(kPod)->controller();
  ASSERT_TRUE(owner.has_value());
  EXPECT_EQ(owner->kind, "ReplicaSet");
  EXPECT_EQ(owner->uid, "u3");
}

TEST(ObjectTest, ManagedFieldsAreDropped) {
  EXPECT_FALSE(Object::Parse(kPod)->json()["metadata"].contains("managedFields"));
}

TEST(ObjectTest, WrongTypesReadAsEmpty) {
  const auto object = Object::Parse(
      R"({"kind": 7, "metadata": {"name": null, "labels": [1], "generation": "x", "ownerReferences": {"a": 1}}})");
  ASSERT_TRUE(object.ok());
  EXPECT_EQ(object->kind(), "");
  EXPECT_EQ(object->name(), "");
  EXPECT_EQ(object->generation(), 0);
  EXPECT_TRUE(object->labels().empty());
  EXPECT_EQ(object->label("a"), std::nullopt);
  EXPECT_FALSE(object->controller().has_value());
  EXPECT_TRUE(Object::Parse(R"({"metadata": 5})").ok());
}

TEST(ObjectTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "7", "{", "{\"a\": \"\xff\"}", "{} {}"}) {
    EXPECT_FALSE(Object::Parse(text).ok()) << text;
  }
}

TEST(ObjectTest, CopiesAreDeep) {
  Object first(nlohmann::json{{"kind", "A"}});
  Object second = first;
  second.mutable_json()["kind"] = "B";
  EXPECT_EQ(first.kind(), "A");
  EXPECT_EQ(second.kind(), "B");
  EXPECT_EQ(second.Dump(), R"({"kind":"B"})");
}

}  // namespace
}  // namespace podcache::kube
