#include "operator/cache/object_store.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace podcache::kube {
namespace {

Object Pod(const std::string& ns, const std::string& name, const std::string& node,
           const std::string& version = "1") {
  return Object(nlohmann::json{
      {"metadata",
       {{"namespace", ns}, {"name", name}, {"uid", name + "-uid"}, {"resourceVersion", version}}},
      {"spec", {{"nodeName", node}}}});
}

ObjectPtr Shared(Object object) { return std::make_shared<const Object>(std::move(object)); }

std::vector<std::string> Names(const std::vector<ObjectPtr>& objects) {
  std::vector<std::string> names;
  for (const ObjectPtr& object : objects) names.push_back(object->key().ToString());
  return names;
}
using Strings = std::vector<std::string>;

class ObjectStoreTest : public testing::Test {
 protected:
  ObjectStoreTest() {
    store_.AddIndex("node", [](const Object& object) {
      return Strings{std::string(object.TextAt({"spec", "nodeName"}))};
    });
  }
  ObjectStore store_;
};

TEST_F(ObjectStoreTest, PutGetRemove) {
  const auto added = store_.Put(Pod("shop", "a", "n1"));
  EXPECT_EQ(added.before, nullptr);
  EXPECT_EQ(added.after, store_.Get({"shop", "a"}));
  const auto updated = store_.Put(Pod("shop", "a", "n1", "2"));
  EXPECT_EQ(updated.before, added.after);
  EXPECT_EQ(updated.after->resource_version(), "2");
  const auto removed = store_.Remove({"shop", "a"});
  EXPECT_EQ(removed.before, updated.after);
  EXPECT_EQ(removed.after, nullptr);
  EXPECT_EQ(store_.Get({"shop", "a"}), nullptr);
  EXPECT_EQ(store_.Remove({"shop", "a"}).before, nullptr);
}

TEST_F(ObjectStoreTest, ListsAreInOrderAndByNamespace) {
  for (const char* name : {"b", "a"}) {
    store_.Put(Pod("shop", name, "n1"));
    store_.Put(Pod("shop2", name, "n1"));
  }
  EXPECT_EQ(Names(store_.List()), (Strings{"shop/a", "shop/b", "shop2/a", "shop2/b"}));
  EXPECT_EQ(Names(store_.ListNamespace("shop")), (Strings{"shop/a", "shop/b"}));
  EXPECT_TRUE(store_.ListNamespace("sho").empty());
  EXPECT_EQ(store_.size(), 4u);
}

TEST_F(ObjectStoreTest, IndexesFollowChanges) {
  store_.Put(Pod("shop", "b", "n1"));
  store_.Put(Pod("shop", "a", "n1"));
  EXPECT_EQ(Names(store_.Lookup("node", "n1")), (Strings{"shop/a", "shop/b"}));
  store_.Put(Pod("shop", "a", "n2", "2"));
  EXPECT_EQ(Names(store_.Lookup("node", "n1")), (Strings{"shop/b"}));
  EXPECT_EQ(Names(store_.Lookup("node", "n2")), (Strings{"shop/a"}));
  store_.Remove({"shop", "b"});
  EXPECT_TRUE(store_.Lookup("node", "n1").empty());
  EXPECT_TRUE(store_.Lookup("node", "none").empty());
}

TEST_F(ObjectStoreTest, AnIndexMayGiveSeveralValuesAlsoTwice) {
  ObjectStore store;
  store.AddIndex("all", [](const Object&) { return Strings{"x", "y", "x"}; });
  store.Put(Pod("shop", "a", "n1"));
  EXPECT_EQ(store.Lookup("all", "x").size(), 1u);
  EXPECT_EQ(store.Lookup("all", "y").size(), 1u);
  store.Remove({"shop", "a"});
  EXPECT_TRUE(store.Lookup("all", "x").empty());
}

TEST_F(ObjectStoreTest, ReplaceTellsWhatChanged) {
  store_.Put(Pod("shop", "gone", "n1"));
  store_.Put(Pod("shop", "same", "n1"));
  store_.Put(Pod("shop", "changed", "n1"));
  const ObjectPtr same = store_.Get({"shop", "same"});
  const auto changes =
      store_.Replace({Shared(Pod("shop", "changed", "n2", "7")), Shared(Pod("shop", "new", "n1")),
                      Shared(Pod("shop", "same", "n1"))});
  ASSERT_EQ(changes.size(), 3u);
  EXPECT_EQ(changes[0].before->name(), "gone");
  EXPECT_EQ(changes[0].after, nullptr);
  EXPECT_EQ(changes[1].before->resource_version(), "1");
  EXPECT_EQ(changes[1].after->resource_version(), "7");
  EXPECT_EQ(changes[2].before, nullptr);
  EXPECT_EQ(changes[2].after->name(), "new");
  EXPECT_EQ(store_.Get({"shop", "same"}), same);  // Still the shared snapshot.
  EXPECT_EQ(Names(store_.Lookup("node", "n1")), (Strings{"shop/new", "shop/same"}));
  EXPECT_EQ(Names(store_.Lookup("node", "n2")), (Strings{"shop/changed"}));
}

TEST_F(ObjectStoreTest, ASnapshotOutlivesItsReplacement) {
  store_.Put(Pod("shop", "a", "n1"));
  const ObjectPtr held = store_.Get({"shop", "a"});
  store_.Put(Pod("shop", "a", "n2", "2"));
  EXPECT_EQ(held->TextAt({"spec", "nodeName"}), "n1");
}

TEST_F(ObjectStoreTest, ReadersBesideAWriter) {
  std::thread reader([this] {
    for (int i = 0; i < 1000; ++i) {
      for (const ObjectPtr& object : store_.Lookup("node", "n1")) {
        EXPECT_EQ(object->TextAt({"spec", "nodeName"}), "n1");
      }
    }
  });
  for (int i = 0; i < 1000; ++i) {
    store_.Put(Pod("shop", "p" + std::to_string(i % 10), i % 2 == 0 ? "n1" : "n2"));
  }
  reader.join();
}

}  // namespace
}  // namespace podcache::kube
