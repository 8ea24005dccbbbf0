#include "operator/reconcile/resize_executor.h"

#include <algorithm>
#include <charconv>
#include <nlohmann/json.hpp>
#include <optional>

#include "common/status/status.h"
#include "operator/client/api_error.h"
#include "operator/reconcile/pod_plan.h"
#include "operator/resources/names.h"

namespace podcache::control {

namespace {

using nlohmann::json;

StepOutcome Failed(const absl::Status& status, bool of_server) {
  return {.result = StepResult::kFailed,
          .message = std::string(MessageOf(status)),
          .of_server = of_server};
}

kube::WriteOptions Options() { return {.field_manager = std::string(kFieldManager)}; }

void NoteVersion(const kube::Object& pod, PodMemory& memory) {
  memory.patched_version = std::max(memory.patched_version, VersionNumber(pod.resource_version()));
}

// Another pod has the name by now: 422, since a uid is immutable.
bool IsAboutUid(const kube::ApiErrorDetails& details) {
  return std::any_of(
      details.causes.begin(), details.causes.end(),
      [](const kube::ApiErrorCause& cause) { return cause.field == "metadata.uid"; });
}

}  // namespace

std::uint64_t VersionNumber(std::string_view resource_version) {
  std::uint64_t number = 0;
  const auto parsed = std::from_chars(resource_version.data(),
                                      resource_version.data() + resource_version.size(), number);
  return parsed.ec == std::errc() ? number : 0;
}

StepOutcome ResizeExecutor::UpdateServer(const ResizeStep& step, const NodeTarget& target,
                                         PodMemory& memory) {
  absl::StatusOr<NodeConfig> config = NodeConfig();
  if (step.set_memory_bytes) {
    config = nodes_.SetMemory(target, *step.set_memory_bytes);
    if (!config.ok()) return Failed(config.status(), true);
  }
  if (step.set_threads) {
    config = nodes_.SetThreads(target, *step.set_threads);
    if (!config.ok()) return Failed(config.status(), true);
  }
  if (memory.report) memory.report->config = *config;
  return {};
}

StepOutcome ResizeExecutor::PatchPod(const PodView& pod, const ContainerAmounts& amounts,
                                     std::int64_t generation, PodMemory& memory) {
  // The uid makes the API server refuse a new pod of the same name.
  const json patch = {{"metadata", {{"uid", pod.uid}}},
                      {"spec",
                       {{pod.native ? "initContainers" : "containers",
                         json::array({{{"name", std::string(kContainerName)},
                                       {"resources", ToResourcesJson(amounts)}}})}}}};
  const absl::StatusOr<kube::Object> patched =
      api_.Patch({kube::kPods, pod.key.ns, pod.key.name, "resize"},
                 kube::PatchType::kStrategicMerge, patch, Options());
  if (!patched.ok()) return AfterRefusedPatch(patched.status(), amounts, generation, memory);
  memory.last_patched = amounts;
  memory.refused.reset();
  NoteVersion(*patched, memory);
  return NoteApplied(pod, amounts, memory);
}

StepOutcome ResizeExecutor::AfterRefusedPatch(const absl::Status& status,
                                              const ContainerAmounts& amounts,
                                              std::int64_t generation, PodMemory& memory) {
  const std::optional<kube::ApiErrorDetails> details = kube::GetApiErrorDetails(status);
  if (details && (kube::IsForbidden(status) || kube::IsInvalid(status)) && !IsAboutUid(*details)) {
    memory.refused = RefusedResize{generation, amounts, details->message};
    return {.result = StepResult::kRefused, .message = memory.refused->message};
  }
  if (absl::IsNotFound(status)) {
    // The pod is gone, or this API server is too old: discovery tells which.
    const absl::StatusOr<bool> served = kube::IsServed(api_, "v1", "pods/resize");
    if (served.ok() && !*served) {
      return {.result = StepResult::kUnsupported, .message = "pods/resize is not served"};
    }
  }
  return Failed(status, false);
}

StepOutcome ResizeExecutor::NoteApplied(const PodView& pod, const ContainerAmounts& amounts,
                                        PodMemory& memory) {
  const json patch = {
      {"metadata",
       {{"uid", pod.uid},
        {"annotations",
         {{std::string(kAppliedResourcesAnnotation), AppliedResourcesText(amounts)}}}}}};
  const absl::StatusOr<kube::Object> patched = api_.Patch(
      {kube::kPods, pod.key.ns, pod.key.name, ""}, kube::PatchType::kMerge, patch, Options());
  if (!patched.ok()) return Failed(patched.status(), false);
  NoteVersion(*patched, memory);
  return {};
}

StepOutcome ResizeExecutor::EvictPod(const PodView& pod) {
  const absl::Status status = kube::Evict(api_, pod.key, pod.uid);
  if (status.ok() || absl::IsNotFound(status)) return {};
  StepOutcome outcome = Failed(status, false);
  if (kube::IsTooManyRequests(status)) {
    outcome.message = "eviction is blocked by a disruption budget";
  }
  return outcome;
}

}  // namespace podcache::control
