#include "operator/reconcile/sidecar_events.h"

#include "operator/api/v1alpha1/quantity.h"

namespace podcache::control {

namespace {

bool WasResizing(ResizeState state) {
  switch (state) {
    case ResizeState::kGrowing:
    case ResizeState::kShrinking:
    case ResizeState::kWaitingForRelease:
    case ResizeState::kDeferred:
      return true;
    default:
      return false;
  }
}

std::string Describe(const SidecarTarget& target) {
  return "cache " + FormatBytes(target.cache_bytes) + ", memory limit " +
         FormatBytes(target.amounts.memory_limit_bytes) + ", threads " +
         std::to_string(target.threads);
}

EventText Text(bool warning, std::string_view reason, const PodOutcome& pod,
               const std::string& note) {
  return {.warning = warning,
          .reason = reason,
          .action = "Resize",
          .note = "Pod " + pod.name + ": " + note};
}

}  // namespace

std::optional<EventText> EventFor(ResizeState before, const PodOutcome& pod) {
  if (before == pod.state) return std::nullopt;
  switch (pod.state) {
    case ResizeState::kIdle:
      if (!WasResizing(before)) return std::nullopt;
      return Text(false, "Resized", pod, Describe(pod.target));
    case ResizeState::kDeferred:
      return Text(true, "ResizeDeferred", pod, pod.message);
    case ResizeState::kInfeasible:
      return Text(true, "ResizeInfeasible", pod, pod.message);
    case ResizeState::kError:
      return Text(true, "ResizeFailed", pod, pod.message);
    case ResizeState::kForeignChange:
      return Text(true, "VPAConflict", pod, pod.message);
    default:
      return std::nullopt;
  }
}

}  // namespace podcache::control
