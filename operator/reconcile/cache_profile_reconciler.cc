#include "operator/reconcile/cache_profile_reconciler.h"

#include <nlohmann/json.hpp>

#include "common/status/status.h"
#include "operator/api/v1alpha1/conditions.h"
#include "operator/api/v1alpha1/validation.h"
#include "operator/client/time_text.h"
#include "operator/resources/names.h"
#include "operator/resources/sizing_rules.h"

namespace podcache::control {

namespace {

ConditionUpdate Accepted(const CacheProfile& profile, const std::string& invalid) {
  if (!invalid.empty()) {
    return {condition::kAccepted, ConditionStatus::kFalse, "InvalidSpec", invalid};
  }
  const std::vector<std::string> unreachable = UnreachableRules(profile.spec.rules);
  if (unreachable.empty()) return {condition::kAccepted, ConditionStatus::kTrue, "Accepted", ""};
  std::string names;
  for (const std::string& name : unreachable) names += (names.empty() ? "" : ", ") + name;
  return {condition::kAccepted, ConditionStatus::kFalse, "UnreachableRule",
          "an earlier rule always matches before: " + names + "; move them up or remove them"};
}

}  // namespace

CacheProfileStatus BuildProfileStatus(const CacheProfile& profile, std::int32_t used_by,
                                      const std::string& invalid, std::string_view now) {
  CacheProfileStatus status;
  status.observed_generation = profile.metadata.generation;
  status.rule_count = static_cast<std::int32_t>(profile.spec.rules.size());
  status.used_by = used_by;
  status.conditions = UpdateConditions(profile.status.conditions, {Accepted(profile, invalid)},
                                       profile.metadata.generation, now);
  return status;
}

absl::StatusOr<kube::Result> CacheProfileReconciler::Reconcile(const kube::Request& request) {
  const kube::ObjectPtr live = stores_.profiles.Get(request.key);
  if (live == nullptr || live->being_deleted()) return kube::Result{};
  if (live->annotation(kPausedAnnotation) == "true") return kube::Result{};
  FieldErrors errors;
  const CacheProfile profile = CacheProfileFromJson(live->json(), &errors);
  const FieldErrors rules = Validate(profile);
  errors.insert(errors.end(), rules.begin(), rules.end());
  const auto used_by = static_cast<std::int32_t>(SidecarsOfProfile(*live, stores_.sidecars).size());
  const CacheProfileStatus status =
      BuildProfileStatus(profile, used_by, errors.empty() ? std::string() : Describe(errors),
                         kube::FormatTime(clock_.WallSeconds()));
  PODCACHE_ASSIGN_OR_RETURN(
      const std::chrono::nanoseconds wait,
      status_writer_.Write(kCacheProfiles, *live, ToJson(profile.status), ToJson(status)));
  if (wait > std::chrono::nanoseconds(0)) return kube::Result{wait};
  return kube::Result{};
}

}  // namespace podcache::control
