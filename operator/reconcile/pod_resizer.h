// One visit to the running caches of a CacheSidecar: look, decide, do at most one step each.
//
// Nothing here waits for a resize: a visit asks servers that are due (many at once), takes the
// steps that are possible now, and says when to come again.
//
// Threads: any, but one visit per CacheSidecar at a time. Ownership: borrows everything.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/logging/logger.h"
#include "operator/admin/node_client.h"
#include "operator/client/api_client.h"
#include "operator/reconcile/pod_plan.h"
#include "operator/reconcile/pod_view.h"
#include "operator/reconcile/resize_executor.h"
#include "operator/reconcile/resize_history.h"
#include "operator/reconcile/server_access.h"

namespace podcache::control {

// What this API server can do.
struct ResizeSupport {
  std::atomic<bool> in_place{true};  // pods/resize.
  std::atomic<bool> decrease{true};  // Of memory limits.
};

// What became of one pod.
struct PodOutcome {
  std::string name;
  std::string uid;
  ResizeState state = ResizeState::kIdle;
  std::string message;
  std::optional<ResizeState> previous;  // Of the visit before, in this process.
  Sized sized = Sized::kMatched;
  std::string sized_message;
  bool running = false;
  bool apply_failed = false;      // The cache did not answer, or refused a value.
  bool restart_required = false;  // Born with settings that only a new pod follows.
  SidecarTarget target;
};

struct PodVisit {
  const CacheSidecar& sidecar;
  const std::vector<sizing::Rule>& rules;
  const std::vector<PodView>& pods;  // Injected by this object.
  const Logger& log;
};

struct VisitResult {
  std::vector<PodOutcome> pods;  // In the order of the pods.
  std::chrono::nanoseconds next_visit;
};

struct PodResizerOptions {
  std::uint16_t admin_port = 9151;
  std::size_t max_parallel_polls = 8;
};

class PodResizer {
 public:
  // Labels of a node, if they may be read.
  using NodeLabelsOf =
      std::function<std::optional<std::map<std::string, std::string>>(const std::string&)>;

  PodResizer(kube::ApiClient& api, NodeClient& nodes, ResizeHistory& history, ResizeSlots& slots,
             ResizeSupport& support, IdentityOf identity_of, NodeLabelsOf node_labels_of,
             const Clock& clock, PodResizerOptions options);

  VisitResult Visit(const PodVisit& visit);

 private:
  // A pod in work.
  struct Work {
    const PodView* pod;
    PodMemory memory;
    bool fresh = false;     // The server was asked in this visit.
    bool outdated = false;  // Our own last write is not in the cache yet.
    PodPlan plan;
    ResizeStep step;
  };

  Work Recall(const PodView& pod) const;
  void Poll(std::vector<Work*> works);
  void Decide(const PodVisit& visit, Work& work) const;
  ResizeObservation Observe(const PodVisit& visit, const Work& work) const;
  void Act(const PodVisit& visit, Work& work, PodOutcome& outcome);
  StepOutcome Execute(const PodVisit& visit, Work& work);
  PodOutcome Describe(const PodVisit& visit, const Work& work) const;

  NodeClient& nodes_;
  ResizeHistory& history_;
  ResizeSlots& slots_;
  ResizeSupport& support_;
  const IdentityOf identity_of_;
  const NodeLabelsOf node_labels_of_;
  const Clock& clock_;
  const PodResizerOptions options_;
  ResizeExecutor executor_;
};

// How soon a pod in this state deserves another look.
std::chrono::nanoseconds LookAgainAfter(ResizeState state);

// True while something is on its way that a slot stands for.
bool IsMoving(ResizeState state);

}  // namespace podcache::control
