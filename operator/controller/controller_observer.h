// Where controllers report to; ControllerMetrics hands out one observer per controller.
#pragma once

#include <chrono>
#include <string>

#include "operator/queue/work_queue.h"

namespace podcache::kube {

enum class ReconcileOutcome { kSuccess, kRequeueAfter, kError, kTerminalError };

// Called from any worker.
class ControllerObserver {
 public:
  virtual ~ControllerObserver() = default;
  virtual void OnReconcileStart() = 0;
  virtual void OnReconcileEnd(ReconcileOutcome outcome, std::chrono::nanoseconds took) = 0;
  // Beside the end: it failed by its deadline, or by an exception.
  virtual void OnTimeout() = 0;
  virtual void OnException() = 0;
};

// A seam: OperatorMetrics is the real one. References live as long as it does.
class ControllerMetrics {
 public:
  virtual ~ControllerMetrics() = default;
  virtual ControllerObserver& ForController(const std::string& name, int workers) = 0;
  virtual WorkQueueObserver& ForQueue(const std::string& name) = 0;
  // Asked at every scrape; null to forget the queue.
  virtual void WatchQueue(const std::string& name, const WorkQueue* queue) = 0;
};

}  // namespace podcache::kube
