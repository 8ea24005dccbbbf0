#include "operator/controller/event_mapper.h"

#include <optional>
#include <utility>

namespace podcache::kube {

EventMapper MapToSelf() {
  return [](const Object& object) { return std::vector<NamespacedName>{object.key()}; };
}

EventMapper MapToController(const ResourceType& owner) {
  return [owner](const Object& object) {
    std::vector<NamespacedName> keys;
    const std::optional<OwnerReference> controller = object.controller();
    if (!controller || controller->kind != owner.kind) return keys;
    // Any version of the group: owner references keep the one they were written with.
    const std::string_view api_version = controller->api_version;
    const std::size_t slash = api_version.find('/');
    const std::string_view group =
        slash == std::string_view::npos ? std::string_view() : api_version.substr(0, slash);
    if (group != owner.group) return keys;
    keys.push_back({owner.namespaced ? std::string(object.ns()) : "", controller->name});
    return keys;
  };
}

EventMapper MapByLabel(std::string label) {
  return [label = std::move(label)](const Object& object) {
    std::vector<NamespacedName> keys;
    if (const auto value = object.label(label); value && !value->empty()) {
      keys.push_back({std::string(object.ns()), std::string(*value)});
    }
    return keys;
  };
}

}  // namespace podcache::kube
