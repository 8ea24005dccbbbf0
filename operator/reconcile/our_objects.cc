#include "operator/reconcile/our_objects.h"

#include <nlohmann/json.hpp>

#include "operator/resources/names.h"
#include "operator/resources/sidecar_selection.h"

namespace podcache::control {

std::vector<CacheSidecar> SidecarsIn(const kube::StoreView& sidecars, std::string_view ns) {
  std::vector<CacheSidecar> result;
  for (const kube::ObjectPtr& object : sidecars.ListNamespace(ns)) {
    FieldErrors ignored;
    result.push_back(CacheSidecarFromJson(object->json(), &ignored));
  }
  return result;
}

std::string ProfileNameOf(const CacheSidecarSpec& spec) {
  if (spec.profile_ref) return spec.profile_ref->name;
  return spec.sizing ? std::string() : std::string(kDefaultProfileName);
}

std::optional<CacheProfile> FindProfile(const kube::StoreView& profiles, const std::string& name) {
  if (name.empty()) return std::nullopt;
  const kube::ObjectPtr object = profiles.Get({"", name});
  if (object == nullptr) return std::nullopt;
  FieldErrors ignored;
  return CacheProfileFromJson(object->json(), &ignored);
}

std::vector<kube::NamespacedName> SidecarsOfPod(const kube::Object& pod,
                                                const kube::StoreView& sidecars) {
  std::vector<kube::NamespacedName> keys;
  const std::string ns(pod.ns());
  if (const auto injected_by = pod.annotation(kInjectedByAnnotation)) {
    const auto key = kube::NamespacedName::Parse(*injected_by);
    if (key.ns == ns) keys.push_back(key);
  }
  const std::vector<CacheSidecar> all = SidecarsIn(sidecars, ns);
  std::vector<const CacheSidecar*> pointers;
  for (const CacheSidecar& sidecar : all) pointers.push_back(&sidecar);
  const SidecarSelection selection =
      SelectSidecar(pod.labels(), pod.annotation(kSidecarNameAnnotation).value_or(""), pointers);
  if (selection.chosen != nullptr) {
    kube::NamespacedName key{ns, selection.chosen->metadata.name};
    if (keys.empty() || !(keys.front() == key)) keys.push_back(std::move(key));
  }
  return keys;
}

std::vector<kube::NamespacedName> SiblingsOf(const kube::Object& sidecar,
                                             const kube::StoreView& sidecars) {
  std::vector<kube::NamespacedName> keys = {sidecar.key()};
  for (const kube::ObjectPtr& other : sidecars.ListNamespace(sidecar.ns())) {
    if (other->name() != sidecar.name()) keys.push_back(other->key());
  }
  return keys;
}

std::vector<kube::NamespacedName> ProfilesOfSidecar(const kube::Object& sidecar) {
  FieldErrors ignored;
  const std::string name = ProfileNameOf(CacheSidecarFromJson(sidecar.json(), &ignored).spec);
  if (name.empty()) return {};
  return {{"", name}};
}

bool ConditionHolds(const kube::Object& object, std::string_view type) {
  const nlohmann::json& conditions = object.At({"status", "conditions"});
  if (!conditions.is_array()) return false;
  for (const nlohmann::json& condition : conditions) {
    if (condition.is_object() && condition.value("type", "") == type) {
      return condition.value("status", "") == "True";
    }
  }
  return false;
}

std::vector<kube::NamespacedName> SidecarsOfProfile(const kube::Object& profile,
                                                    const kube::StoreView& sidecars) {
  std::vector<kube::NamespacedName> keys;
  for (const kube::ObjectPtr& object : sidecars.List()) {
    FieldErrors ignored;
    const CacheSidecar sidecar = CacheSidecarFromJson(object->json(), &ignored);
    if (ProfileNameOf(sidecar.spec) == profile.name()) keys.push_back(object->key());
  }
  return keys;
}

}  // namespace podcache::control
