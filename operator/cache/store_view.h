// Several stores of one kind read as one: an operator that watches some namespaces has a store for
// each.
//
// Threads: any. Ownership: borrows the stores.
#pragma once

#include <string_view>
#include <utility>
#include <vector>

#include "operator/cache/object_store.h"

namespace podcache::kube {

class StoreView {
 public:
  void Add(const ObjectStore& store) { stores_.push_back(&store); }

  // Null when none has it.
  ObjectPtr Get(const NamespacedName& key) const;
  std::vector<ObjectPtr> List() const;
  std::vector<ObjectPtr> ListNamespace(std::string_view ns) const;

 private:
  std::vector<const ObjectStore*> stores_;
};

}  // namespace podcache::kube
