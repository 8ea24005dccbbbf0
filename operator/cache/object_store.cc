#include "operator/cache/object_store.h"

#include <utility>

#include "common/base/check.h"

namespace podcache::kube {

void ObjectStore::AddIndex(std::string name, IndexFunction function) {
  MutexLock lock(mutex_);
  PODCACHE_CHECK(objects_.empty());
  indexes_.push_back({std::move(name), std::move(function), {}});
}

ObjectPtr ObjectStore::Get(const NamespacedName& key) const {
  MutexLock lock(mutex_);
  const auto found = objects_.find(key.ToString());
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<ObjectPtr> ObjectStore::List() const {
  MutexLock lock(mutex_);
  std::vector<ObjectPtr> result;
  result.reserve(objects_.size());
  for (const auto& [key, object] : objects_) result.push_back(object);
  return result;
}

std::vector<ObjectPtr> ObjectStore::ListNamespace(std::string_view ns) const {
  const std::string prefix = std::string(ns) + "/";
  MutexLock lock(mutex_);
  std::vector<ObjectPtr> result;
  for (auto it = objects_.lower_bound(prefix); it != objects_.end(); ++it) {
    if (it->first.compare(0, prefix.size(), prefix) != 0) break;
    result.push_back(it->second);
  }
  return result;
}

std::vector<ObjectPtr> ObjectStore::Lookup(std::string_view index, std::string_view value) const {
  MutexLock lock(mutex_);
  std::vector<ObjectPtr> result;
  for (const Index& candidate : indexes_) {
    if (candidate.name != index) continue;
    const auto found = candidate.keys.find(std::string(value));
    if (found == candidate.keys.end()) return result;
    for (const std::string& key : found->second) result.push_back(objects_.at(key));
    return result;
  }
  PODCACHE_CHECK(false);  // No such index.
}

std::size_t ObjectStore::size() const {
  MutexLock lock(mutex_);
  return objects_.size();
}

void ObjectStore::Link(const std::string& key, const Object& object) {
  for (Index& index : indexes_) {
    for (std::string& value : index.function(object)) {
      index.keys[std::move(value)].insert(key);
    }
  }
}

void ObjectStore::Unlink(const std::string& key, const Object& object) {
  for (Index& index : indexes_) {
    for (const std::string& value : index.function(object)) {
      const auto found = index.keys.find(value);
      // The function may name a value twice.
      if (found == index.keys.end()) continue;
      found->second.erase(key);
      if (found->second.empty()) index.keys.erase(found);
    }
  }
}

ObjectStore::Change ObjectStore::Exchange(const std::string& key, ObjectPtr next) {
  Change change{.before = nullptr, .after = next};
  const auto found = objects_.find(key);
  if (found != objects_.end()) {
    change.before = found->second;
    Unlink(key, *change.before);
  }
  if (next != nullptr) {
    Link(key, *next);
    objects_[key] = std::move(next);
  } else if (found != objects_.end()) {
    objects_.erase(found);
  }
  return change;
}

ObjectStore::Change ObjectStore::Put(Object object) {
  auto next = std::make_shared<const Object>(std::move(object));
  const std::string key = next->key().ToString();
  MutexLock lock(mutex_);
  return Exchange(key, std::move(next));
}

ObjectStore::Change ObjectStore::Remove(const NamespacedName& key) {
  MutexLock lock(mutex_);
  return Exchange(key.ToString(), nullptr);
}

std::vector<ObjectStore::Change> ObjectStore::Replace(std::vector<ObjectPtr> objects) {
  std::map<std::string, ObjectPtr> next;
  for (ObjectPtr& object : objects) {
    std::string key = object->key().ToString();
    next.insert_or_assign(std::move(key), std::move(object));
  }
  MutexLock lock(mutex_);
  std::vector<std::string> gone;
  for (const auto& [key, object] : objects_) {
    if (next.find(key) == next.end()) gone.push_back(key);
  }
  std::vector<Change> changes;
  changes.reserve(gone.size() + next.size());
  for (const std::string& key : gone) changes.push_back(Exchange(key, nullptr));
  for (auto& [key, object] : next) {
    const auto found = objects_.find(key);
    // Nothing happened to it: who holds the old snapshot may go on sharing it.
    if (found != objects_.end() && !object->resource_version().empty() &&
        found->second->uid() == object->uid() &&
        found->second->resource_version() == object->resource_version()) {
      continue;
    }
    changes.push_back(Exchange(key, std::move(object)));
  }
  return changes;
}

}  // namespace podcache::kube
