// What a controller runs for a key: bring the world one step nearer to what the object asks for.
//
// Level-based: the request names an object, not what happened to it. Read from the stores, do one
// step, return. Four outcomes: success (no requeue_after), requeue-after, error (retried with
// back-off), terminal error (counted and logged, not retried: it would fail the same way until the
// object changes). Threads: called by the controller's workers, never twice at once for the same
// key; a reconciler serves several keys at once when the controller has several workers.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "common/logging/logger.h"
#include "common/status/status.h"
#include "operator/client/resource.h"

namespace podcache::kube {

struct Request {
  NamespacedName key;
  // With the controller, the key and the reconcile ID bound.
  const Logger& log;
};

struct Result {
  std::optional<std::chrono::nanoseconds> requeue_after{};
};

class Reconciler {
 public:
  virtual ~Reconciler() = default;
  virtual absl::StatusOr<Result> Reconcile(const Request& request) = 0;
};

// Marks an error as terminal; keeps code, message and payloads.
absl::Status Terminal(absl::Status status);
bool IsTerminal(const absl::Status& status);

}  // namespace podcache::kube
