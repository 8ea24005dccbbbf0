#include "operator/reconcile/sidecar_status.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <utility>

namespace podcache::control {

namespace {

constexpr std::size_t kLongestPodMessage = 1024;
constexpr std::size_t kMostNames = 3;

constexpr std::array<std::pair<ResizeState, std::string_view>, 11> kStateNames = {{
    {ResizeState::kIdle, "Idle"},
    {ResizeState::kStarting, "Starting"},
    {ResizeState::kGrowing, "Growing"},
    {ResizeState::kShrinking, "Shrinking"},
    {ResizeState::kWaitingForRelease, "WaitingForRelease"},
    {ResizeState::kDeferred, "Deferred"},
    {ResizeState::kInfeasible, "Infeasible"},
    {ResizeState::kError, "ResizeError"},
    {ResizeState::kUnreachable, "Unreachable"},
    {ResizeState::kRestartRequired, "RestartRequired"},
    {ResizeState::kForeignChange, "VPAConflict"},
}};

// "3 pods, for example web-1: the message".
std::string Example(std::size_t count, const PodOutcome& pod, const std::string& message) {
  std::string text =
      std::to_string(count) + (count == 1 ? " pod, " : " pods, for example ") + pod.name;
  return message.empty() ? text : text + ": " + message;
}

class Builder {
 public:
  explicit Builder(const SidecarFacts& facts) : facts_(facts) {}

  std::vector<ConditionUpdate> Conditions() const {
    ConditionUpdate injection = InjectionReady();
    ConditionUpdate resizing = Resizing();
    ConditionUpdate applied = LiveConfigApplied();
    ConditionUpdate sized = SizedCondition();
    ConditionUpdate ready = Ready(injection, resizing, applied);
    return {std::move(ready), std::move(injection), std::move(resizing), std::move(applied),
            std::move(sized)};
  }

 private:
  struct Found {
    const PodOutcome* first = nullptr;
    std::size_t count = 0;
    explicit operator bool() const { return first != nullptr; }
  };

  template <typename Predicate>
  Found Find(Predicate predicate) const {
    Found found;
    for (const PodOutcome& pod : facts_.pods) {
      if (!predicate(pod)) continue;
      if (found.count++ == 0) found.first = &pod;
    }
    return found;
  }
  Found InState(ResizeState state) const {
    return Find([state](const PodOutcome& pod) { return pod.state == state; });
  }

  static ConditionUpdate Make(std::string_view type, ConditionStatus status,
                              std::string_view reason, std::string message) {
    return {.type = type, .status = status, .reason = reason, .message = std::move(message)};
  }

  ConditionUpdate InjectionReady() const {
    const auto make = [](ConditionStatus status, std::string_view reason, std::string message) {
      return Make(condition::kInjectionReady, status, reason, std::move(message));
    };
    if (!facts_.native_sidecars) {
      return make(
          ConditionStatus::kFalse, "NativeSidecarsUnavailable",
          "this cluster has no native sidecars: the cache is a plain container, and pods of Jobs "
          "do not get it");
    }
    if (!facts_.webhook_ready) {
      return make(ConditionStatus::kFalse, "CertificateNotReady",
                  "the webhook does not serve yet, or its CA is not in the webhook configuration");
    }
    if (!facts_.not_injected.empty()) {
      std::string names;
      for (std::size_t i = 0; i < std::min(kMostNames, facts_.not_injected.size()); ++i) {
        names += (i == 0 ? "" : ", ") + facts_.not_injected[i];
      }
      return make(ConditionStatus::kFalse, "PodsNotInjected",
                  std::to_string(facts_.not_injected.size()) + " matched pods have no cache (" +
                      names +
                      "): created before this object, without the webhook, or in conflict; they "
                      "get it when "
                      "they are created anew");
    }
    return make(ConditionStatus::kTrue, "Serving", "");
  }

  ConditionUpdate Resizing() const {
    struct Row {
      ResizeState state;
      ConditionStatus status;
      std::string_view reason;
    };
    // What moves is shown before what does not.
    static constexpr std::array<Row, 8> kRows = {{
        {ResizeState::kGrowing, ConditionStatus::kTrue, "Growing"},
        {ResizeState::kShrinking, ConditionStatus::kTrue, "Shrinking"},
        {ResizeState::kWaitingForRelease, ConditionStatus::kTrue, "WaitingForRelease"},
        {ResizeState::kDeferred, ConditionStatus::kTrue, "Deferred"},
        {ResizeState::kInfeasible, ConditionStatus::kFalse, "Infeasible"},
        {ResizeState::kError, ConditionStatus::kFalse, "ResizeError"},
        {ResizeState::kForeignChange, ConditionStatus::kUnknown, "VPAConflict"},
        {ResizeState::kRestartRequired, ConditionStatus::kFalse, "Idle"},
    }};
    for (const Row& row : kRows) {
      if (const Found found = InState(row.state)) {
        return Make(condition::kResizing, row.status, row.reason,
                    Example(found.count, *found.first, found.first->message));
      }
    }
    return Make(condition::kResizing, ConditionStatus::kFalse, "Idle", "");
  }

  ConditionUpdate LiveConfigApplied() const {
    const auto make = [](ConditionStatus status, std::string_view reason, std::string message) {
      return Make(condition::kLiveConfigApplied, status, reason, std::move(message));
    };
    if (const Found found = Find([](const PodOutcome& pod) { return pod.apply_failed; })) {
      return make(ConditionStatus::kFalse, "ApplyFailed",
                  Example(found.count, *found.first, found.first->message));
    }
    if (const Found found = Find([](const PodOutcome& pod) {
          return pod.restart_required || pod.state == ResizeState::kRestartRequired;
        })) {
      return make(ConditionStatus::kFalse, "RestartRequired",
                  Example(found.count, *found.first,
                          found.first->restart_required
                              ? "runs with settings that only a new pod follows (image, listeners, "
                                "largest item, connections, arguments)"
                              : found.first->message));
    }
    if (const Found found = Find(
            [](const PodOutcome& pod) { return pod.running && pod.state != ResizeState::kIdle; })) {
      return make(ConditionStatus::kFalse, "Applying",
                  Example(found.count, *found.first, found.first->message));
    }
    return make(ConditionStatus::kTrue, "Applied", "");
  }

  ConditionUpdate SizedCondition() const {
    const auto with = [this](Sized sized) {
      return Find([sized](const PodOutcome& pod) { return pod.running && pod.sized == sized; });
    };
    const auto make = [](ConditionStatus status, std::string_view reason, std::string message) {
      return Make(condition::kSized, status, reason, std::move(message));
    };
    for (const auto& [sized, status, reason] :
         {std::tuple(Sized::kLimitTooSmall, ConditionStatus::kFalse, "LimitTooSmall"),
          std::tuple(Sized::kNoMatch, ConditionStatus::kFalse, "NoProfileMatch"),
          std::tuple(Sized::kArchUnknown, ConditionStatus::kUnknown, "ArchUnknown")}) {
      if (const Found found = with(sized)) {
        return make(status, reason, Example(found.count, *found.first, found.first->sized_message));
      }
    }
    if (const Found noted =
            Find([](const PodOutcome& pod) { return pod.running && !pod.sized_message.empty(); })) {
      return make(ConditionStatus::kTrue, "ProfileMatched",
                  Example(noted.count, *noted.first, noted.first->sized_message));
    }
    return make(ConditionStatus::kTrue, "ProfileMatched", "");
  }

  ConditionUpdate Ready(const ConditionUpdate& injection, const ConditionUpdate& resizing,
                        const ConditionUpdate& applied) const {
    const auto make = [](ConditionStatus status, std::string_view reason, std::string message) {
      return Make(condition::kReady, status, reason, std::move(message));
    };
    if (!facts_.invalid.empty())
      return make(ConditionStatus::kFalse, "InvalidSpec", facts_.invalid);
    if (injection.status != ConditionStatus::kTrue) {
      return make(ConditionStatus::kFalse, "Degraded", injection.message);
    }
    if (resizing.status == ConditionStatus::kTrue) {
      return make(ConditionStatus::kFalse, "Progressing", resizing.message);
    }
    if (const Found found = InState(ResizeState::kStarting)) {
      return make(ConditionStatus::kFalse, "Progressing",
                  Example(found.count, *found.first, found.first->message));
    }
    if (resizing.reason != "Idle")
      return make(ConditionStatus::kFalse, "Degraded", resizing.message);
    if (applied.status != ConditionStatus::kTrue) {
      return make(ConditionStatus::kFalse, "Degraded", applied.message);
    }
    return make(ConditionStatus::kTrue, "AllPodsSized",
                facts_.pods.empty() ? "no pod has the cache yet" : "");
  }

  const SidecarFacts& facts_;
};

}  // namespace

std::string_view StateName(ResizeState state) {
  for (const auto& [known, name] : kStateNames) {
    if (known == state) return name;
  }
  return "Idle";
}

ResizeState StateFromName(std::string_view name) {
  for (const auto& [state, known] : kStateNames) {
    if (known == name) return state;
  }
  return ResizeState::kIdle;
}

CacheSidecarStatus BuildStatus(const CacheSidecar& sidecar, const SidecarFacts& facts,
                               std::string_view now) {
  CacheSidecarStatus status;
  status.observed_generation = sidecar.metadata.generation;
  status.matched_pods = facts.matched_pods;
  status.injected_pods = facts.injected_pods;
  for (const PodOutcome& pod : facts.pods) {
    if (pod.state == ResizeState::kIdle) {
      ++status.resized_pods;
      continue;
    }
    if (status.pods.size() == kMostPodsInStatus) continue;
    status.pods.push_back({.name = pod.name,
                           .state = std::string(StateName(pod.state)),
                           .message = pod.message.substr(0, kLongestPodMessage)});
  }
  status.pending_pods = status.injected_pods - status.resized_pods;
  std::sort(status.pods.begin(), status.pods.end(),
            [](const SidecarPodStatus& a, const SidecarPodStatus& b) { return a.name < b.name; });
  status.conditions = UpdateConditions(sidecar.status.conditions, Builder(facts).Conditions(),
                                       sidecar.metadata.generation, now);
  return status;
}

}  // namespace podcache::control
