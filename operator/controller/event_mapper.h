// From changed objects to the keys to reconcile.
//
// Threads: mappers run on informer threads and must not block. A mapper sees the old and the new
// state, so that an object that moves from one owner to another wakes both.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "operator/client/object.h"
#include "operator/client/resource.h"

namespace podcache::kube {

using EventMapper = std::function<std::vector<NamespacedName>(const Object& object)>;

// The object itself.
EventMapper MapToSelf();
// The controller owner, if it is of this type; in the object's namespace, or none for a
// cluster-scoped owner.
EventMapper MapToController(const ResourceType& owner);
// The object of this name in the same namespace that a label of the object names.
EventMapper MapByLabel(std::string label);

}  // namespace podcache::kube
