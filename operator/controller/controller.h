// Workers that take keys from a queue and reconcile them.
//
//   Controller controller({.name = "cachesidecar"}, reconciler, clock, metrics, log);
//   controller.Watch(sidecars, MapToSelf(), SpecOrMetadataChanged());
//   controller.Watch(pods, MapByLabel("podcache.dev/sidecar"), Always());
//   controller.Start();   // After the informers have synced: see Manager.
//
// Exceptions of libraries end here, once: they count as errors and as panics.
// Threads: Watch before the informers start; Start and Stop from one thread; Enqueue from any. The
// destructor stops. Ownership: borrows everything; informers must be stopped before the controller
// is destroyed.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/logging/logger.h"
#include "operator/cache/informer.h"
#include "operator/controller/controller_observer.h"
#include "operator/controller/event_mapper.h"
#include "operator/controller/predicate.h"
#include "operator/controller/reconciler.h"
#include "operator/queue/work_queue.h"

namespace podcache::kube {

struct ControllerOptions {
  std::string name{};
  int workers = 1;
  RateLimiterOptions rate_limit{};
};

class Controller {
 public:
  Controller(ControllerOptions options, Reconciler& reconciler, const Clock& clock,
             ControllerMetrics& metrics, Logger log);
  ~Controller();

  const std::string& name() const { return options_.name; }

  void Watch(Informer& informer, EventMapper mapper, Predicate predicate);
  // For triggers that are no object: timers, a file, another process.
  void Enqueue(const NamespacedName& key) { queue_.Add(key.ToString()); }

  void Start();
  // No new reconciles; the ones in progress may finish.
  void RequestStop() { queue_.ShutDown(); }
  // Waits for the workers, at most until `timeout`; false when some are still busy.
  bool Join(std::chrono::nanoseconds timeout);

  // One key, without waiting or threads; false when the queue is empty. For tests.
  bool ProcessOne();
  WorkQueue& queue() { return queue_; }

 private:
  void EnqueueAll(const std::vector<NamespacedName>& keys);
  void Work();
  void Process(const std::string& key);
  absl::StatusOr<Result> ReconcileGuarded(const Request& request);
  void Settle(const std::string& key, const absl::StatusOr<Result>& result, const Logger& log);

  const ControllerOptions options_;
  Reconciler& reconciler_;
  const Clock& clock_;
  ControllerMetrics& metrics_;
  ControllerObserver& observer_;
  Logger log_;
  WorkQueue queue_;
  std::atomic<std::uint64_t> next_id_{1};
  Mutex mutex_;
  CondVar worker_ended_;
  int running_ GUARDED_BY(mutex_) = 0;
  std::vector<std::thread> workers_;
};

}  // namespace podcache::kube
