// The last known state of one kind: what reconcilers read instead of asking the API server.
//
// Invariant: writes come from one reflector alone; every index always agrees with the objects.
// All lists are in the order of keys, so that what is computed from them is the same every time.
// Threads: any number of readers, one writer; a reader never waits for I/O.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/client/object.h"

namespace podcache::kube {

// Shared: a reader keeps its snapshot of an object for a whole reconcile while the reflector
// already replaces it, and handlers hold the old beside the new; nobody may change it.
using ObjectPtr = std::shared_ptr<const Object>;

// The values under which an object is found in one index; must depend on the object alone.
using IndexFunction = std::function<std::vector<std::string>(const Object& object)>;

class ObjectStore {
 public:
  struct Change {
    ObjectPtr before;  // Null when the object is new.
    ObjectPtr after;   // Null when the object is gone.
  };

  // Before the first object only.
  void AddIndex(std::string name, IndexFunction function);

  // Null when there is none.
  ObjectPtr Get(const NamespacedName& key) const;
  std::vector<ObjectPtr> List() const;
  std::vector<ObjectPtr> ListNamespace(std::string_view ns) const;
  // The index must exist.
  std::vector<ObjectPtr> Lookup(std::string_view index, std::string_view value) const;
  std::size_t size() const;

  // For the reflector's side. Put returns the change; an older object never replaces one of the
  // same resourceVersion.
  Change Put(Object object);
  Change Remove(const NamespacedName& key);
  // The whole state after a list: what is missing from it is gone, what kept its resourceVersion
  // has not changed.
  std::vector<Change> Replace(std::vector<ObjectPtr> objects);

 private:
  struct Index {
    std::string name;
    IndexFunction function;
    // Value → keys of objects.
    std::unordered_map<std::string, std::set<std::string>> keys;
  };
  void Link(const std::string& key, const Object& object) REQUIRES(mutex_);
  void Unlink(const std::string& key, const Object& object) REQUIRES(mutex_);
  Change Exchange(const std::string& key, ObjectPtr next) REQUIRES(mutex_);

  mutable Mutex mutex_;
  std::map<std::string, ObjectPtr> objects_ GUARDED_BY(mutex_);
  std::vector<Index> indexes_ GUARDED_BY(mutex_);
};

}  // namespace podcache::kube
