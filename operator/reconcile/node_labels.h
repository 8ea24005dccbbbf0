// Labels of nodes, where the operator may read them: rules with match.nodeSelector need them.
//
// A node is asked for once in five minutes at most, and only when a rule needs it. Threads: any.
// Ownership: borrows client and clock.
#pragma once

#include <chrono>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/client/api_client.h"

namespace podcache::control {

class NodeLabels {
 public:
  using Labels = std::map<std::string, std::string>;

  NodeLabels(kube::ApiClient& api, bool allowed, const Clock& clock)
      : api_(api), allowed_(allowed), clock_(clock) {}

  // Nothing where reading is not allowed or fails.
  std::optional<Labels> Get(const std::string& node);

 private:
  struct Entry {
    std::optional<Labels> labels;
    std::chrono::nanoseconds at;
  };
  kube::ApiClient& api_;
  const bool allowed_;
  const Clock& clock_;
  Mutex mutex_;
  std::unordered_map<std::string, Entry> known_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
