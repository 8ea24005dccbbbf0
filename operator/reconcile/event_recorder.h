// Events (events.k8s.io/v1) about our objects: one per transition. The same event again within ten
// minutes becomes a series, not a second object.
//
// A failed write is logged and forgotten: events inform, nothing depends on them.
// Threads: any. Ownership: borrows client and clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/logging/logger.h"
#include "operator/client/api_client.h"

namespace podcache::control {

struct EventObject {
  std::string api_version;
  std::string kind;
  std::string ns;
  std::string name;
  std::string uid;
};

struct EventText {
  bool warning = false;
  std::string_view reason;  // "Resized", "ResizeDeferred", …
  std::string_view action;  // "Resize", "Inject", …
  std::string note;         // At most 1 kB is kept.
};

class EventRecorder {
 public:
  // `instance`: this process, for example its host name.
  EventRecorder(kube::ApiClient& api, std::string instance, const Clock& clock, Logger log);

  // `related` may be null.
  void Record(const EventObject& regarding, const EventObject* related, const EventText& text);

 private:
  struct Known {
    std::string name;
    std::chrono::nanoseconds last_seen;
    int count = 1;
  };
  void Create(const std::string& key, const EventObject& regarding, const EventObject* related,
              const EventText& text);
  void DropOld(std::chrono::nanoseconds now) REQUIRES(mutex_);

  kube::ApiClient& api_;
  const std::string instance_;
  const Clock& clock_;
  const Logger log_;
  Mutex mutex_;
  std::unordered_map<std::string, Known> known_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
