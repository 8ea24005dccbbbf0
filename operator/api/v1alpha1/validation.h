// What makes an object meaningless although each of its fields can be read. The API server refuses
// all of this by the CRD's rules; an object stored before a rule existed, or while the CRD was an
// older one, still comes by here.
//
// Only what leaves no sensible reading is an error. A memory limit that is too small for the cache,
// for example, is none: the server then runs at the largest size that fits, and a condition says
// so. For objects that could be read without an error. Pure functions.
#pragma once

#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/api/v1alpha1/field_error.h"

namespace podcache::control {

FieldErrors Validate(const CacheSidecar& sidecar);
FieldErrors Validate(const CacheProfile& profile);

}  // namespace podcache::control
