// One event of a watch.
#pragma once

#include "operator/client/object.h"

namespace podcache::kube {

// Errors are not events: the watch ends with the Status that the server sent.
enum class WatchEventType { kAdded, kModified, kDeleted, kBookmark };

struct WatchEvent {
  WatchEventType type;
  Object object;  // Of a bookmark only kind, resourceVersion and annotations are set.
};

}  // namespace podcache::kube
