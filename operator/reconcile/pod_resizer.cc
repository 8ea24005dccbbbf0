#include "operator/reconcile/pod_resizer.h"

#include <algorithm>
#include <utility>

#include "common/status/status.h"
#include "operator/resources/pod_config.h"

namespace podcache::control {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

ServerObservation ServerOf(const PodMemory& memory) {
  const NodeInfo& info = *memory.report;
  return {.target_bytes = info.config.memory_target_bytes,
          .limit_bytes = info.config.memory_limit_bytes,
          .resident_bytes = info.resident_memory_bytes,
          .cgroup_limit_bytes = info.cgroup_memory_limit_bytes,
          .growth_bytes_per_second = memory.growth_bytes_per_second,
          .threads_target = info.config.threads_target,
          .threads_running = info.config.threads_running};
}

bool IsStepOfSafety(const ResizeStep& step) { return step.state == ResizeState::kForeignChange; }

}  // namespace

bool IsMoving(ResizeState state) {
  return state == ResizeState::kGrowing || state == ResizeState::kShrinking;
}

nanoseconds LookAgainAfter(ResizeState state) {
  switch (state) {
    case ResizeState::kGrowing:
    case ResizeState::kShrinking:
      return milliseconds(200);
    case ResizeState::kWaitingForRelease:
      return milliseconds(400);
    case ResizeState::kUnreachable:
      return seconds(2);
    case ResizeState::kError:
      return seconds(5);
    case ResizeState::kStarting:
    case ResizeState::kDeferred:
    case ResizeState::kForeignChange:
      return seconds(10);
    case ResizeState::kIdle:
    case ResizeState::kInfeasible:
    case ResizeState::kRestartRequired:
      return seconds(30);
  }
  return seconds(30);
}

PodResizer::PodResizer(kube::ApiClient& api, NodeClient& nodes, ResizeHistory& history,
                       ResizeSlots& slots, ResizeSupport& support, IdentityOf identity_of,
                       NodeLabelsOf node_labels_of, const Clock& clock, PodResizerOptions options)
    : nodes_(nodes),
      history_(history),
      slots_(slots),
      support_(support),
      identity_of_(std::move(identity_of)),
      node_labels_of_(std::move(node_labels_of)),
      clock_(clock),
      options_(options),
      executor_(api, nodes) {}

VisitResult PodResizer::Visit(const PodVisit& visit) {
  std::vector<Work> works;
  works.reserve(visit.pods.size());
  std::vector<Work*> due;
  for (const PodView& pod : visit.pods) {
    works.push_back(Recall(pod));
    Work& work = works.back();
    const bool moving = !work.memory.last_state || *work.memory.last_state != ResizeState::kIdle;
    if (pod.container.running && PollDue(work.memory, moving, clock_.MonotonicNow()))
      due.push_back(&work);
  }
  Poll(std::move(due));

  // What is under way goes on before anything new begins.
  std::vector<Work*> order;
  for (Work& work : works) {
    Decide(visit, work);
    order.push_back(&work);
  }
  std::stable_partition(order.begin(), order.end(), [](const Work* work) {
    return work->memory.last_state && IsMoving(*work->memory.last_state);
  });
  std::map<const Work*, PodOutcome> outcomes;
  for (Work* work : order) {
    PodOutcome outcome = Describe(visit, *work);
    Act(visit, *work, outcome);
    outcomes.emplace(work, std::move(outcome));
  }

  VisitResult result{.pods = {}, .next_visit = seconds(30)};
  for (Work& work : works) {
    PodOutcome& outcome = outcomes.at(&work);
    if (!IsMoving(outcome.state)) slots_.Release(work.pod->uid);
    result.next_visit = std::min(result.next_visit, LookAgainAfter(outcome.state));
    if (outcome.state == ResizeState::kIdle) work.memory.patched_while_ending_at.reset();
    work.memory.last_state = outcome.state;
    work.memory.last_message = outcome.message;
    history_.Put(work.pod->uid, std::move(work.memory));
    result.pods.push_back(std::move(outcome));
  }
  return result;
}

PodResizer::Work PodResizer::Recall(const PodView& pod) const {
  Work work{.pod = &pod, .memory = history_.Get(pod.uid), .plan = {}, .step = {}};
  PodMemory& memory = work.memory;
  if (memory.container_id != pod.container_id || !pod.container.running) {
    // Another start of the container: what was heard is of the one before.
    memory.container_id = pod.container_id;
    memory.report.reset();
    memory.failures = 0;
    memory.polled_at = nanoseconds(0);
  }
  const std::uint64_t version = VersionNumber(pod.resource_version);
  work.outdated = version != 0 && version < memory.patched_version;
  return work;
}

void PodResizer::Poll(std::vector<Work*> works) {
  std::vector<NodeTarget> targets;
  std::vector<Work*> asked;
  for (Work* work : works) {
    work->fresh = true;
    absl::StatusOr<NodeTarget> target = TargetOf(*work->pod, options_.admin_port, identity_of_);
    if (target.ok()) {
      targets.push_back(*std::move(target));
      asked.push_back(work);
    } else {
      NoteReport(work->memory, target.status(), clock_.MonotonicNow());
    }
  }
  const auto answers = PollServers(nodes_, targets, options_.max_parallel_polls);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    NoteReport(asked[i]->memory, answers[i], clock_.MonotonicNow());
  }
}

ResizeObservation PodResizer::Observe(const PodVisit& visit, const Work& work) const {
  const CacheSidecarSpec& spec = visit.sidecar.spec;
  ResizeObservation observed;
  observed.container = work.pod->container;
  if (const auto& patched_at = work.memory.patched_while_ending_at) {
    observed.container.changed_while_ending_for =
        std::chrono::duration_cast<seconds>(clock_.MonotonicNow() - *patched_at);
  }
  if (work.memory.report) observed.server = ServerOf(work.memory);
  observed.server_error =
      work.memory.error.empty() ? "the cache was not asked yet" : work.memory.error;
  const auto& refused = work.memory.refused;
  if (refused && refused->generation == visit.sidecar.metadata.generation &&
      refused->amounts == work.plan.target.amounts) {
    observed.refusal = refused->message;
  }
  observed.foreign_change = work.plan.foreign_change;
  observed.resize_supported = support_.in_place.load();
  observed.decrease_supported = support_.decrease.load();
  observed.recreate_allowed = spec.resize.mode == ResizeMode::kInPlaceOrRecreate;
  observed.deferred_timeout =
      std::chrono::duration_cast<seconds>(spec.resize.deferred_timeout + milliseconds(999));
  return observed;
}

void PodResizer::Decide(const PodVisit& visit, Work& work) const {
  work.plan = PlanPod({.spec = visit.sidecar.spec,
                       .rules = visit.rules,
                       .pod = *work.pod,
                       .host = work.memory.host,
                       .node_labels = node_labels_of_(work.pod->node_name),
                       .last_patched = work.memory.last_patched,
                       .server_cgroup_limit_bytes =
                           work.memory.report ? work.memory.report->cgroup_memory_limit_bytes : 0});
  work.step = ResizeStep();
  if (work.outdated) {
    work.step.state = work.memory.last_state.value_or(ResizeState::kGrowing);
    work.step.message = "waiting for the pod's own news";
  } else if (work.plan.impossible) {
    const bool silent = !work.memory.report;
    const ContainerObservation& container = work.pod->container;
    work.step.state = container.keeps_ending ? ResizeState::kError
                      : !container.running   ? ResizeState::kStarting
                      : silent               ? ResizeState::kUnreachable
                                             : ResizeState::kError;
    work.step.message = silent ? work.memory.error : work.plan.message;
  } else {
    work.step = NextResizeStep(Observe(visit, work), work.plan.target);
  }
}

void PodResizer::Act(const PodVisit& visit, Work& work, PodOutcome& outcome) {
  if (work.step.action == ResizeAction::kNone) {
    // The write that tells our doing from others' may have failed before.
    const bool settled = work.step.state == ResizeState::kIdle &&
                         work.pod->container.spec == work.plan.target.amounts;
    if (settled && work.pod->applied_resources != AppliedResourcesText(work.plan.target.amounts)) {
      executor_.NoteApplied(*work.pod, work.plan.target.amounts, work.memory);
    }
    return;
  }
  if (!visit.sidecar.spec.update_running_pods && !IsStepOfSafety(work.step)) {
    outcome.state = ResizeState::kRestartRequired;
    outcome.message = "updateRunningPods is off: a new pod gets the new size";
    return;
  }
  if (!IsStepOfSafety(work.step) && !slots_.Acquire(work.pod->uid)) {
    outcome.message = "waits until other resizes are done";
    return;
  }
  if (work.memory.report && !work.fresh) {
    Poll({&work});
    Decide(visit, work);
    outcome = Describe(visit, work);
    if (work.step.action == ResizeAction::kNone) return;
  }
  const StepOutcome done = Execute(visit, work);
  if (done.result == StepResult::kDone) return;
  visit.log.Warning("Resize step failed",
                    {{"pod", work.pod->key.ToString()}, {"error", done.message}});
  outcome.message = done.message;
  outcome.apply_failed = done.of_server;
  if (done.result == StepResult::kRefused) outcome.state = ResizeState::kInfeasible;
  if (done.result == StepResult::kUnsupported) {
    support_.in_place.store(false);
    outcome.state = ResizeState::kRestartRequired;
  }
  if (done.result == StepResult::kFailed && done.of_server) outcome.state = ResizeState::kError;
}

StepOutcome PodResizer::Execute(const PodVisit& visit, Work& work) {
  switch (work.step.action) {
    case ResizeAction::kUpdateServer: {
      const absl::StatusOr<NodeTarget> target =
          TargetOf(*work.pod, options_.admin_port, identity_of_);
      if (!target.ok()) return {StepResult::kFailed, std::string(MessageOf(target.status())), true};
      visit.log.Info("Changing live configuration",
                     {{"pod", work.pod->key.ToString()},
                      {"memoryBytes", work.step.set_memory_bytes.value_or(0)},
                      {"threads", work.step.set_threads.value_or(0)}});
      return executor_.UpdateServer(work.step, *target, work.memory);
    }
    case ResizeAction::kPatchPod:
      visit.log.Info("Resizing container",
                     {{"pod", work.pod->key.ToString()},
                      {"memoryLimitBytes", work.step.set_amounts.memory_limit_bytes},
                      {"cpuLimitMilli", work.step.set_amounts.cpu_limit_milli}});
      if (work.pod->container.keeps_ending) {
        work.memory.patched_while_ending_at = clock_.MonotonicNow();
      }
      return executor_.PatchPod(*work.pod, work.step.set_amounts, visit.sidecar.metadata.generation,
                                work.memory);
    case ResizeAction::kEvictPod:
      visit.log.Info("Evicting pod", {{"pod", work.pod->key.ToString()}});
      return executor_.EvictPod(*work.pod);
    case ResizeAction::kNone:
      break;
  }
  return {};
}

PodOutcome PodResizer::Describe(const PodVisit& visit, const Work& work) const {
  const PodView& pod = *work.pod;
  PodOutcome outcome;
  outcome.name = pod.key.name;
  outcome.uid = pod.uid;
  outcome.state = work.step.state;
  outcome.message = work.step.message;
  outcome.previous = work.memory.last_state;
  outcome.sized = work.plan.sized;
  outcome.sized_message = work.plan.message;
  outcome.running = pod.container.running;
  outcome.apply_failed = pod.container.running && work.step.state == ResizeState::kUnreachable;
  outcome.restart_required =
      !pod.config_hash.empty() && pod.config_hash != RestartHash(visit.sidecar.spec);
  outcome.target = work.plan.target;
  if (work.step.state == ResizeState::kForeignChange) {
    outcome.message = std::string("the container's resources were changed by ") +
                      (pod.vpa_managed ? "a VerticalPodAutoscaler" : "somebody else") +
                      "; the cache follows them";
  }
  return outcome;
}

}  // namespace podcache::control
