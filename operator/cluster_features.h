// What the API server at hand can do, asked once per connection.
//
// Threads: pure requests, any.
#pragma once

#include <string>

#include "operator/client/api_client.h"

namespace podcache::control {

struct ClusterFeatures {
  kube::ServerVersion version;
  bool in_place_resize = true;  // pods/resize is served (1.33).
  bool memory_decrease = true;  // Memory limits may be lowered in place (1.34).
  bool native_sidecars = true;  // restartPolicy of init containers (1.29, behind a gate to 1.32).
};

// `ns`: where a dry-run pod may be created to see whether the API server keeps restartPolicy.
// Without the right to do so the default of the version is believed.
absl::StatusOr<ClusterFeatures> DetectFeatures(kube::ApiClient& client, const std::string& ns);

}  // namespace podcache::control
