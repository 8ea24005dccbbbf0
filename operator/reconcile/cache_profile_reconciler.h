// Shows on a CacheProfile how many rules it has, who uses it, and which rules can never match.
//
// Threads: as a kube::Reconciler. Ownership: borrows everything.
#pragma once

#include <string_view>

#include "common/base/clock.h"
#include "operator/api/v1alpha1/cache_profile.h"
#include "operator/controller/reconciler.h"
#include "operator/reconcile/our_objects.h"
#include "operator/reconcile/status_writer.h"

namespace podcache::control {

// The status of a profile: a pure function. `invalid`: why its rules are not well formed, or empty.
CacheProfileStatus BuildProfileStatus(const CacheProfile& profile, std::int32_t used_by,
                                      const std::string& invalid, std::string_view now);

class CacheProfileReconciler final : public kube::Reconciler {
 public:
  CacheProfileReconciler(const Stores& stores, StatusWriter& status_writer, const Clock& clock)
      : stores_(stores), status_writer_(status_writer), clock_(clock) {}

  absl::StatusOr<kube::Result> Reconcile(const kube::Request& request) override;

 private:
  const Stores& stores_;
  StatusWriter& status_writer_;
  const Clock& clock_;
};

}  // namespace podcache::control
