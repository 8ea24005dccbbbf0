// Every right the operator needs, as data: the installation's roles are tested against it.
//
// Threads: constants.
#pragma once

#include <string_view>
#include <vector>

namespace podcache::control {

enum class RightScope {
  kWatched,   // In all namespaces, or in those that are watched.
  kCluster,   // Always cluster-wide.
  kProfiles,  // Cluster-wide; not where only some namespaces are watched.
  kNodes,     // Cluster-wide; only with --read-nodes.
  kOwn,       // In the operator's own namespace.
  kProbe,     // The same, before Kubernetes 1.33 only.
};

struct Right {
  RightScope scope;
  std::string_view group;  // Empty: the core group.
  std::string_view resource;
  std::string_view name;  // Empty: any.
  std::vector<std::string_view> verbs;
};

const std::vector<Right>& RightsNeeded();

}  // namespace podcache::control
