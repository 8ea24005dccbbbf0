#include "operator/reconcile/cache_sidecar_reconciler.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "common/status/status.h"
#include "operator/api/v1alpha1/validation.h"
#include "operator/client/time_text.h"
#include "operator/reconcile/sidecar_events.h"
#include "operator/resources/names.h"
#include "operator/resources/sidecar_selection.h"
#include "operator/resources/sizing_rules.h"

namespace podcache::control {

namespace {

using std::chrono::nanoseconds;

constexpr std::size_t kMostVisited = 100'000;

EventObject Regarding(const CacheSidecar& sidecar) {
  return {.api_version = std::string(kApiVersion),
          .kind = std::string(CacheSidecar::kKind),
          .ns = sidecar.metadata.namespace_name,
          .name = sidecar.metadata.name,
          .uid = sidecar.metadata.uid};
}

EventObject PodReference(const std::string& ns, const std::string& name, const std::string& uid) {
  return {.api_version = "v1", .kind = "Pod", .ns = ns, .name = name, .uid = uid};
}

bool IsPaused(const CacheSidecar& sidecar) {
  const auto found = sidecar.metadata.annotations.find(std::string(kPausedAnnotation));
  return found != sidecar.metadata.annotations.end() && found->second == "true";
}

// The state that was last shown: remembered, or after a restart what the status says.
ResizeState StateBefore(const CacheSidecar& sidecar, const PodOutcome& pod) {
  if (pod.previous) return *pod.previous;
  for (const SidecarPodStatus& shown : sidecar.status.pods) {
    if (shown.name == pod.name) return StateFromName(shown.state);
  }
  return ResizeState::kIdle;
}

std::string_view CountedResult(std::string_view reason) {
  if (reason == "Resized") return "done";
  if (reason == "ResizeDeferred") return "deferred";
  if (reason == "ResizeInfeasible") return "infeasible";
  return reason == "ResizeFailed" ? "failed" : std::string_view();
}

}  // namespace

CacheSidecarReconciler::CacheSidecarReconciler(const Stores& stores, PodResizer& resizer,
                                               ResizeHistory& history, ResizeSlots& slots,
                                               NodeClient& nodes, StatusWriter& status_writer,
                                               EventRecorder& events, ResizeCounter& counter,
                                               SidecarSurroundings surroundings, const Clock& clock)
    : stores_(stores),
      resizer_(resizer),
      history_(history),
      slots_(slots),
      nodes_(nodes),
      status_writer_(status_writer),
      events_(events),
      counter_(counter),
      surroundings_(std::move(surroundings)),
      clock_(clock) {}

absl::StatusOr<kube::Result> CacheSidecarReconciler::Reconcile(const kube::Request& request) {
  const kube::ObjectPtr live = stores_.sidecars.Get(request.key);
  if (live == nullptr) {
    // Running caches keep their last size.
    ForgetObject(request.key);
    return kube::Result{};
  }
  FieldErrors read_errors;
  const CacheSidecar sidecar = CacheSidecarFromJson(live->json(), &read_errors);
  if (live->being_deleted() || IsPaused(sidecar)) return kube::Result{};

  Pods pods = FindPods(sidecar);
  ForgetGonePods(request.key, pods);
  SidecarFacts facts;
  facts.matched_pods = pods.matched;
  facts.injected_pods = static_cast<std::int32_t>(pods.injected.size());
  for (const PodView& pod : pods.not_injected) facts.not_injected.push_back(pod.key.name);
  facts.webhook_ready = surroundings_.webhook_ready();
  facts.native_sidecars = surroundings_.native_sidecars;
  if (const std::string why = FindInvalid(sidecar, read_errors); !why.empty()) {
    return ShowInvalid(*live, sidecar, std::move(facts), why);
  }

  const auto profile = FindProfile(stores_.profiles, ProfileNameOf(sidecar.spec));
  const std::vector<sizing::Rule> rules = RulesOf(sidecar.spec, profile ? &*profile : nullptr);
  VisitResult visited = resizer_.Visit(
      {.sidecar = sidecar, .rules = rules, .pods = pods.injected, .log = request.log});
  facts.pods = visited.pods;
  const CacheSidecarStatus status =
      BuildStatus(sidecar, facts, kube::FormatTime(clock_.WallSeconds()));
  TellTransitions(sidecar, visited.pods);
  TellNotInjected(sidecar, pods.not_injected);
  PODCACHE_ASSIGN_OR_RETURN(
      const nanoseconds wait,
      status_writer_.Write(kCacheSidecars, *live, ToJson(sidecar.status), ToJson(status)));
  return kube::Result{wait > nanoseconds(0) ? std::min(wait, visited.next_visit)
                                            : visited.next_visit};
}

void CacheSidecarReconciler::ForgetObject(const kube::NamespacedName& key) {
  ForgetGonePods(key, Pods());
}

CacheSidecarReconciler::Pods CacheSidecarReconciler::FindPods(const CacheSidecar& sidecar) const {
  const std::string owner = sidecar.metadata.namespace_name + "/" + sidecar.metadata.name;
  const std::vector<CacheSidecar> all =
      SidecarsIn(stores_.sidecars, sidecar.metadata.namespace_name);
  std::vector<const CacheSidecar*> candidates;
  for (const CacheSidecar& candidate : all) candidates.push_back(&candidate);
  Pods pods;
  for (const kube::ObjectPtr& object :
       stores_.pods.ListNamespace(sidecar.metadata.namespace_name)) {
    PodView pod = ReadPod(*object, clock_.WallSeconds());
    if (pod.ended || InjectRequestOf(pod.labels) == InjectRequest::kNever) continue;
    const bool ours = pod.injected() && pod.injected_by == owner;
    const CacheSidecar* chosen = SelectSidecar(pod.labels, pod.wanted_sidecar, candidates).chosen;
    const bool matched = chosen != nullptr && chosen->metadata.name == sidecar.metadata.name;
    if (ours) {
      pods.injected.push_back(std::move(pod));
    } else if (matched && !pod.injected()) {
      pods.not_injected.push_back(std::move(pod));
    }
    if (matched || ours) ++pods.matched;
  }
  const auto by_name = [](const PodView& a, const PodView& b) { return a.key.name < b.key.name; };
  std::sort(pods.injected.begin(), pods.injected.end(), by_name);
  std::sort(pods.not_injected.begin(), pods.not_injected.end(), by_name);
  return pods;
}

std::string CacheSidecarReconciler::FindInvalid(const CacheSidecar& sidecar,
                                                const FieldErrors& read_errors) const {
  FieldErrors errors = read_errors;
  const FieldErrors rules = Validate(sidecar);
  errors.insert(errors.end(), rules.begin(), rules.end());
  if (!errors.empty()) return Describe(errors);
  if (!sidecar.spec.profile_ref) return {};
  const std::string& name = sidecar.spec.profile_ref->name;
  if (!surroundings_.profiles_watched) {
    return "spec.profileRef: this operator watches some namespaces only and reads no "
           "CacheProfiles; use "
           "spec.sizing.rules";
  }
  if (FindProfile(stores_.profiles, name)) return {};
  return "spec.profileRef.name: CacheProfile " + name +
         " does not exist; create it or change the name";
}

void CacheSidecarReconciler::ForgetGonePods(const kube::NamespacedName& key, const Pods& pods) {
  std::set<std::string> uids;
  for (const PodView& pod : pods.injected) uids.insert(pod.uid);
  for (const PodView& pod : pods.not_injected) uids.insert(pod.uid);
  for (const std::string& gone : history_.Retain(key.ToString(), uids)) {
    slots_.Release(gone);
    nodes_.Forget(gone);
  }
}

absl::StatusOr<kube::Result> CacheSidecarReconciler::ShowInvalid(const kube::Object& live,
                                                                 const CacheSidecar& sidecar,
                                                                 SidecarFacts facts,
                                                                 const std::string& why) {
  // The pods keep running as they are; their last known states stay shown.
  facts.invalid = why;
  CacheSidecarStatus status = BuildStatus(sidecar, facts, kube::FormatTime(clock_.WallSeconds()));
  const Condition* before = FindCondition(sidecar.status.conditions, condition::kReady);
  const bool is_new =
      before == nullptr || before->reason != "InvalidSpec" || before->message != why;
  if (is_new && sidecar.spec.profile_ref && why.find("CacheProfile") != std::string::npos) {
    events_.Record(Regarding(sidecar), nullptr,
                   {.warning = true, .reason = "ProfileMissing", .action = "Size", .note = why});
  }
  PODCACHE_ASSIGN_OR_RETURN(
      const nanoseconds wait,
      status_writer_.Write(kCacheSidecars, live, ToJson(sidecar.status), ToJson(status)));
  if (wait > nanoseconds(0)) return kube::Result{wait};
  return kube::Terminal(InvalidArgument(why));
}

void CacheSidecarReconciler::TellTransitions(const CacheSidecar& sidecar,
                                             const std::vector<PodOutcome>& outcomes) {
  for (const PodOutcome& pod : outcomes) {
    const ResizeState before = StateBefore(sidecar, pod);
    const std::optional<EventText> text = EventFor(before, pod);
    if (!text) continue;
    const EventObject related = PodReference(sidecar.metadata.namespace_name, pod.name, pod.uid);
    events_.Record(Regarding(sidecar), &related, *text);
    const std::string_view result = CountedResult(text->reason);
    if (result.empty()) continue;
    const bool shrinking =
        before == ResizeState::kShrinking || before == ResizeState::kWaitingForRelease;
    counter_.OnResize(CacheSidecar::kKind, shrinking ? "shrink" : "grow", result);
  }
}

void CacheSidecarReconciler::TellNotInjected(const CacheSidecar& sidecar,
                                             const std::vector<PodView>& pods) {
  // What the status of the process before this one shows was told by it.
  const Condition* shown = FindCondition(sidecar.status.conditions, condition::kInjectionReady);
  const bool told_before =
      IsFirstVisit(sidecar.metadata.uid) && shown != nullptr && shown->reason == "PodsNotInjected";
  for (const PodView& pod : pods) {
    PodMemory memory = history_.Get(pod.uid);
    if (std::exchange(memory.not_injected_told, true)) continue;
    history_.Put(pod.uid, std::move(memory));
    if (told_before) continue;
    const EventObject related = PodReference(pod.key.ns, pod.key.name, pod.uid);
    events_.Record(Regarding(sidecar), &related,
                   {.warning = true,
                    .reason = "PodNotInjected",
                    .action = "Inject",
                    .note = "Pod " + pod.key.name +
                            " is selected but has no cache; it gets one when created anew"});
  }
}

bool CacheSidecarReconciler::IsFirstVisit(const std::string& uid) {
  MutexLock lock(mutex_);
  if (visited_.size() >= kMostVisited) visited_.clear();
  return visited_.insert(uid).second;
}

}  // namespace podcache::control
