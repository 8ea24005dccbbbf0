#include "operator/controller/predicate.h"

#include <nlohmann/json.hpp>

namespace podcache::kube {
namespace {

bool IsUpdate(const InformerEvent& event) {
  return event.before != nullptr && event.after != nullptr && !event.resync();
}

bool SameAt(const InformerEvent& event, std::initializer_list<std::string_view> path) {
  return event.before->At(path) == event.after->At(path);
}

}  // namespace

Predicate Always() {
  return [](const InformerEvent&) { return true; };
}

Predicate SpecOrMetadataChanged() {
  return [](const InformerEvent& event) {
    if (!IsUpdate(event)) return true;
    return event.before->uid() != event.after->uid() ||
           event.before->generation() != event.after->generation() ||
           event.before->being_deleted() != event.after->being_deleted() ||
           !SameAt(event, {"metadata", "labels"}) || !SameAt(event, {"metadata", "annotations"});
  };
}

Predicate VersionChanged() {
  return [](const InformerEvent& event) {
    return !IsUpdate(event) || event.before->resource_version() != event.after->resource_version();
  };
}

}  // namespace podcache::kube
