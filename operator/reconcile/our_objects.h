// Our kinds in the stores: typed reads, and which objects a change of another one concerns.
//
// Threads: any; reads of stores only, so that the mappers may run on informer threads.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/api/v1alpha1/field_error.h"
#include "operator/cache/store_view.h"
#include "operator/client/resource.h"

namespace podcache::control {

inline constexpr kube::ResourceType kCacheSidecars{kGroup, kVersion, CacheSidecar::kPlural,
                                                   CacheSidecar::kKind, true};
inline constexpr kube::ResourceType kCacheProfiles{kGroup, kVersion, CacheProfile::kPlural,
                                                   CacheProfile::kKind, false};

struct Stores {
  kube::StoreView sidecars;
  kube::StoreView profiles;  // Empty where only some namespaces are watched.
  kube::StoreView pods;      // Those with the inject label.
};

// Everything of a namespace; fields that cannot be read have their defaults.
std::vector<CacheSidecar> SidecarsIn(const kube::StoreView& sidecars, std::string_view ns);

// The profile an object uses: what it names, else the one named default, or empty with rules of its
// own.
std::string ProfileNameOf(const CacheSidecarSpec& spec);
// Nothing if there is none of this name.
std::optional<CacheProfile> FindProfile(const kube::StoreView& profiles, const std::string& name);

// The CacheSidecars that a pod concerns: the one that injected it, and the one that selects it.
std::vector<kube::NamespacedName> SidecarsOfPod(const kube::Object& pod,
                                                const kube::StoreView& sidecars);
// All CacheSidecars of the namespace of this one, itself included although it may be gone already.
std::vector<kube::NamespacedName> SiblingsOf(const kube::Object& sidecar,
                                             const kube::StoreView& sidecars);
// The CacheProfile that a CacheSidecar uses, if any.
std::vector<kube::NamespacedName> ProfilesOfSidecar(const kube::Object& sidecar);
// Whether a condition of this type is True.
bool ConditionHolds(const kube::Object& object, std::string_view type);
// All CacheSidecars that use this profile.
std::vector<kube::NamespacedName> SidecarsOfProfile(const kube::Object& profile,
                                                    const kube::StoreView& sidecars);

}  // namespace podcache::control
