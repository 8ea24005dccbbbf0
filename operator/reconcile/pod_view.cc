#include "operator/reconcile/pod_view.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "operator/client/time_text.h"
#include "operator/reconcile/born_rules.h"
#include "operator/resources/container_amounts.h"
#include "operator/resources/names.h"

namespace podcache::control {

namespace {

using nlohmann::json;

const json& Null() {
  static const json kNull;
  return kNull;
}

const json& Member(const json& object, std::string_view key) {
  if (!object.is_object()) return Null();
  const auto found = object.find(key);
  return found == object.end() ? Null() : *found;
}

std::string Text(const json& object, std::string_view key) {
  const json& value = Member(object, key);
  return value.is_string() ? value.get<std::string>() : std::string();
}

// The entry of our container in a list of containers or container statuses; null if there is none.
const json& Ours(const json& list) {
  if (!list.is_array()) return Null();
  for (const json& entry : list) {
    if (Text(entry, "name") == kContainerName) return entry;
  }
  return Null();
}

std::optional<ContainerAmounts> AmountsIn(const json& status, std::string_view key) {
  const json& value = Member(status, key);
  if (!value.is_object()) return std::nullopt;
  return AmountsFromResourcesJson(value);
}

void ReadContainerStatus(const json& status, PodView& view) {
  const json& state = Member(status, "state");
  view.container.running = Member(state, "running").is_object();
  view.container.keeps_ending = Text(Member(state, "waiting"), "reason") == "CrashLoopBackOff";
  view.container_id = Text(status, "containerID");
  view.container.actual = AmountsIn(status, "resources");
  // A map of requests alone; the limits granted are those of the spec it was granted for.
  if (const json& allocated = Member(status, "allocatedResources"); allocated.is_object()) {
    const ContainerAmounts granted = AmountsFromResourcesJson({{"requests", allocated}});
    view.container.allocated =
        ContainerAmounts{.memory_request_bytes = granted.memory_request_bytes,
                         .memory_limit_bytes = 0,
                         .cpu_request_milli = granted.cpu_request_milli,
                         .cpu_limit_milli = 0};
  }
}

// A condition about an earlier spec says nothing about the resize asked for now.
bool IsStale(const json& condition, std::int64_t generation) {
  const json& observed = Member(condition, "observedGeneration");
  return observed.is_number_integer() && observed.get<std::int64_t>() < generation;
}

void ReadConditions(const kube::Object& pod, std::int64_t now, ContainerObservation& container) {
  const json& conditions = pod.At({"status", "conditions"});
  if (!conditions.is_array()) return;
  for (const json& condition : conditions) {
    if (Text(condition, "status") != "True" || IsStale(condition, pod.generation())) continue;
    const std::string type = Text(condition, "type");
    const std::string reason = Text(condition, "reason");
    if (type == "PodResizePending") {
      container.pending =
          reason == "Infeasible" ? PendingResize::kInfeasible : PendingResize::kDeferred;
      container.pending_message = Text(condition, "message");
      const auto since = kube::ParseTime(Text(condition, "lastTransitionTime"));
      container.pending_for = std::chrono::seconds(since ? now - *since : 0);
    } else if (type == "PodResizeInProgress") {
      container.in_progress =
          reason == "Error" ? RunningResize::kError : RunningResize::kInProgress;
      container.in_progress_message = Text(condition, "message");
    }
  }
}

void ReadContainer(const kube::Object& pod, PodView& view) {
  const json* container = &Ours(pod.At({"spec", "initContainers"}));
  view.native = container->is_object();
  if (!view.native) container = &Ours(pod.At({"spec", "containers"}));
  view.has_container = container->is_object();
  if (!view.has_container) return;
  view.container.spec = AmountsFromResourcesJson(Member(*container, "resources"));
  view.born_rules = BornRules(*container);
  ReadContainerStatus(
      Ours(pod.At({"status", view.native ? "initContainerStatuses" : "containerStatuses"})), view);
}

std::string AnnotationOf(const kube::Object& pod, std::string_view key) {
  return std::string(pod.annotation(key).value_or(std::string_view()));
}

// Copies the members named, where they exist.
json Keep(const json& from, std::initializer_list<const char*> members) {
  json kept = json::object();
  for (const char* member : members) {
    if (const json& value = Member(from, member); !value.is_null()) kept[member] = value;
  }
  return kept;
}

void KeepOurs(json& parent, const char* list, std::initializer_list<const char*> members) {
  const json ours = Ours(Member(parent, list));
  parent.erase(list);
  if (ours.is_object()) parent[list] = json::array({Keep(ours, members)});
}

}  // namespace

PodView ReadPod(const kube::Object& pod, std::int64_t now_unix_seconds) {
  PodView view;
  view.key = pod.key();
  view.uid = pod.uid();
  view.resource_version = pod.resource_version();
  view.labels = pod.labels();
  for (const auto& [key, value] : pod.At({"spec", "nodeSelector"}).items()) {
    if (value.is_string()) view.node_selector.emplace(key, value.get<std::string>());
  }
  const std::string_view phase = pod.TextAt({"status", "phase"});
  view.ended = phase == "Succeeded" || phase == "Failed" || pod.being_deleted();
  view.guaranteed = pod.TextAt({"status", "qosClass"}) == "Guaranteed";
  view.ip = pod.TextAt({"status", "podIP"});
  view.node_name = pod.TextAt({"spec", "nodeName"});
  view.injected_by = AnnotationOf(pod, kInjectedByAnnotation);
  view.wanted_sidecar = AnnotationOf(pod, kSidecarNameAnnotation);
  view.nonce = AnnotationOf(pod, kIdentityAnnotation);
  view.config_hash = AnnotationOf(pod, kConfigHashAnnotation);
  view.applied_resources = AnnotationOf(pod, kAppliedResourcesAnnotation);
  view.vpa_managed = pod.annotation("vpaUpdates") || pod.annotation("vpaObservedContainers");
  ReadContainer(pod, view);
  ReadConditions(pod, now_unix_seconds, view.container);
  return view;
}

void ShrinkPod(kube::Object& pod) {
  const json& old = pod.json();
  json spec =
      Keep(Member(old, "spec"), {"nodeName", "nodeSelector", "initContainers", "containers"});
  KeepOurs(spec, "initContainers", {"name", "resources", "env"});
  KeepOurs(spec, "containers", {"name", "resources", "env"});
  json status = Keep(Member(old, "status"), {"phase", "qosClass", "podIP", "conditions",
                                             "initContainerStatuses", "containerStatuses"});
  for (const char* list : {"initContainerStatuses", "containerStatuses"}) {
    KeepOurs(status, list, {"name", "state", "containerID", "resources", "allocatedResources"});
  }
  json kept = Keep(old, {"apiVersion", "kind"});
  kept["metadata"] = Keep(Member(old, "metadata"),
                          {"name", "namespace", "uid", "resourceVersion", "generation", "labels",
                           "annotations", "creationTimestamp", "deletionTimestamp"});
  kept["spec"] = std::move(spec);
  kept["status"] = std::move(status);
  pod.mutable_json() = std::move(kept);
}

}  // namespace podcache::control
