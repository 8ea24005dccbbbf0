#include "operator/cache/store_view.h"

#include <iterator>

namespace podcache::kube {
namespace {

void Append(std::vector<ObjectPtr>& all, std::vector<ObjectPtr> more) {
  all.insert(all.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

ObjectPtr StoreView::Get(const NamespacedName& key) const {
  for (const ObjectStore* store : stores_) {
    if (ObjectPtr object = store->Get(key); object != nullptr) return object;
  }
  return nullptr;
}

std::vector<ObjectPtr> StoreView::List() const {
  std::vector<ObjectPtr> all;
  for (const ObjectStore* store : stores_) Append(all, store->List());
  return all;
}

std::vector<ObjectPtr> StoreView::ListNamespace(std::string_view ns) const {
  std::vector<ObjectPtr> all;
  for (const ObjectStore* store : stores_) Append(all, store->ListNamespace(ns));
  return all;
}

}  // namespace podcache::kube
