// The secrets of a RestConfig as they are now: files are read again when a minute has passed or
// when the server refused us, since clusters rotate tokens and certificates under running programs.
//
// Threads: any. A snapshot is shared and never changes.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/status/status.h"
#include "operator/client/rest_config.h"

namespace podcache::kube {

class Credentials {
 public:
  static constexpr std::chrono::seconds kMaxAge{60};

  struct Snapshot {
    std::string ca{};
    std::string token{};
    std::string client_certificate{};
    std::string client_key{};
    bool operator==(const Snapshot&) const = default;
  };
  // Shared: requests in flight keep the snapshot they began with while a newer one takes its place.
  using SnapshotPtr = std::shared_ptr<const Snapshot>;

  Credentials(const RestConfig& config, const Clock& clock) : config_(config), clock_(clock) {}

  // When files cannot be read any more the last good snapshot stays in use.
  absl::StatusOr<SnapshotPtr> Current();
  // After a 401 or a refused certificate: reads the files at once. Null when nothing differs from
  // `used`, so that trying again is useless.
  SnapshotPtr RefreshAfterRefusal(const SnapshotPtr& used);

 private:
  absl::Status ReadLocked() REQUIRES(mutex_);

  const RestConfig config_;
  const Clock& clock_;
  Mutex mutex_;
  SnapshotPtr snapshot_ GUARDED_BY(mutex_);
  std::chrono::nanoseconds read_at_ GUARDED_BY(mutex_){0};
};

}  // namespace podcache::kube
