// Brings the running caches of a CacheSidecar one step nearer to it, and shows where they are.
//
// A visit: read the object → its rules → its pods → one step for each that needs one (PodResizer) →
// status → events. Reads come from the stores alone; what it waits for brings it back by
// requeue-after or an event.
//
// Threads: as a kube::Reconciler. Ownership: borrows everything.
#pragma once

#include <functional>
#include <set>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/api/v1alpha1/cache_sidecar.h"
#include "operator/controller/reconciler.h"
#include "operator/reconcile/event_recorder.h"
#include "operator/reconcile/our_objects.h"
#include "operator/reconcile/pod_resizer.h"
#include "operator/reconcile/resize_counter.h"
#include "operator/reconcile/sidecar_status.h"
#include "operator/reconcile/status_writer.h"

namespace podcache::control {

// What is shown beside the pods.
struct SidecarSurroundings {
  std::function<bool()> webhook_ready;
  bool native_sidecars = true;
  bool profiles_watched = true;  // False where only some namespaces are.
};

class CacheSidecarReconciler final : public kube::Reconciler {
 public:
  CacheSidecarReconciler(const Stores& stores, PodResizer& resizer, ResizeHistory& history,
                         ResizeSlots& slots, NodeClient& nodes, StatusWriter& status_writer,
                         EventRecorder& events, ResizeCounter& counter,
                         SidecarSurroundings surroundings, const Clock& clock);

  absl::StatusOr<kube::Result> Reconcile(const kube::Request& request) override;

 private:
  struct Pods {
    std::int32_t matched = 0;
    std::vector<PodView> injected;
    std::vector<PodView> not_injected;
  };
  void ForgetObject(const kube::NamespacedName& key);
  Pods FindPods(const CacheSidecar& sidecar) const;
  std::string FindInvalid(const CacheSidecar& sidecar, const FieldErrors& read_errors) const;
  void ForgetGonePods(const kube::NamespacedName& key, const Pods& pods);
  absl::StatusOr<kube::Result> ShowInvalid(const kube::Object& live, const CacheSidecar& sidecar,
                                           SidecarFacts facts, const std::string& why);
  void TellTransitions(const CacheSidecar& sidecar, const std::vector<PodOutcome>& outcomes);
  void TellNotInjected(const CacheSidecar& sidecar, const std::vector<PodView>& pods);
  // True once for each object in the life of this process.
  bool IsFirstVisit(const std::string& uid);

  const Stores& stores_;
  PodResizer& resizer_;
  ResizeHistory& history_;
  ResizeSlots& slots_;
  NodeClient& nodes_;
  StatusWriter& status_writer_;
  EventRecorder& events_;
  ResizeCounter& counter_;
  const SidecarSurroundings surroundings_;
  const Clock& clock_;
  Mutex mutex_;
  std::set<std::string> visited_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
