// Writes statuses by server-side apply: only when they differ from what the cache shows, and those
// of one object at least a second apart.
//
// Threads: any, one write per object at a time. Ownership: borrows client and clock.
#pragma once

#include <chrono>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <unordered_map>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/client/api_client.h"

namespace podcache::control {

class StatusWriter {
 public:
  static constexpr std::chrono::milliseconds kLeastInterval{1000};

  StatusWriter(kube::ApiClient& api, const Clock& clock) : api_(api), clock_(clock) {}

  // Zero when `status` is in place or was written; else how long to wait before it may be. `live`
  // is the cached object, `live_status` what we understand of its status: fields of others do not
  // count.
  absl::StatusOr<std::chrono::nanoseconds> Write(const kube::ResourceType& type,
                                                 const kube::Object& live,
                                                 const nlohmann::json& live_status,
                                                 const nlohmann::json& status);
  void Forget(const std::string& uid);

 private:
  // What the cache may not show yet.
  struct Last {
    std::chrono::nanoseconds at;
    std::string written;
    std::string replaced_version;  // Of the live object at that time.
  };

  kube::ApiClient& api_;
  const Clock& clock_;
  Mutex mutex_;
  std::unordered_map<std::string, Last> last_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
