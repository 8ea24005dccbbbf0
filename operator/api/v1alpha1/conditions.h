// The conditions of a status: a list with one entry of each type. Pure functions; the time comes
// from the caller.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "operator/api/v1alpha1/shared_types.h"

namespace podcache::control {

// Condition types, and the reasons that go with them.
namespace condition {
inline constexpr std::string_view kReady =
    "Ready";  // AllPodsSized, Degraded, Progressing, InvalidSpec
inline constexpr std::string_view kInjectionReady =
    "InjectionReady";  // Serving, CertificateNotReady, PodsNotInjected,
                       // NativeSidecarsUnavailable
inline constexpr std::string_view kResizing =
    "Resizing";  // Growing, Shrinking, Deferred, WaitingForRelease, Idle,
                 // Infeasible, ResizeError, VPAConflict
inline constexpr std::string_view kLiveConfigApplied =
    "LiveConfigApplied";  // Applied, ApplyFailed, RestartRequired
inline constexpr std::string_view kSized =
    "Sized";  // ProfileMatched, NoProfileMatch, ArchUnknown, LimitTooSmall
inline constexpr std::string_view kAccepted =
    "Accepted";  // Accepted, UnreachableRule, InvalidSpec (CacheProfile)
}  // namespace condition

// What is to be shown; everything but the time.
struct ConditionUpdate {
  std::string_view type;
  ConditionStatus status = ConditionStatus::kUnknown;
  std::string_view reason;
  std::string message;
};

// The new list: exactly the wanted ones, in their order. A condition whose status is what it was
// keeps its lastTransitionTime, so that an unchanged state gives an unchanged status; the others
// get `now` (RFC 3339). Messages are cut at the schema's limit.
std::vector<Condition> UpdateConditions(const std::vector<Condition>& previous,
                                        const std::vector<ConditionUpdate>& wanted,
                                        std::int64_t observed_generation, std::string_view now);

// nullptr if there is none of this type.
const Condition* FindCondition(const std::vector<Condition>& conditions, std::string_view type);

}  // namespace podcache::control
