#include "operator/reconcile/event_recorder.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/status/status.h"
#include "operator/client/time_text.h"
#include "operator/resources/names.h"

namespace podcache::control {

namespace {

using nlohmann::json;

constexpr std::chrono::minutes kSeriesWindow{10};
constexpr std::size_t kMostKnown = 4096;
constexpr std::size_t kLongestNote = 1024;
constexpr std::string_view kController = "podcache.dev/operator";

json Reference(const EventObject& object) {
  return {{"apiVersion", object.api_version},
          {"kind", object.kind},
          {"namespace", object.ns},
          {"name", object.name},
          {"uid", object.uid}};
}

// Events of cluster-scoped objects live in the namespace default.
std::string NamespaceOf(const EventObject& object) {
  return object.ns.empty() ? "default" : object.ns;
}

kube::WriteOptions Options() { return {.field_manager = std::string(kFieldManager)}; }

}  // namespace

EventRecorder::EventRecorder(kube::ApiClient& api, std::string instance, const Clock& clock,
                             Logger log)
    : api_(api), instance_(std::move(instance)), clock_(clock), log_(std::move(log)) {}

void EventRecorder::Record(const EventObject& regarding, const EventObject* related,
                           const EventText& text) {
  const std::string key =
      fmt::format("{}|{}|{}|{}", regarding.uid, related == nullptr ? std::string() : related->uid,
                  text.reason, text.note);
  std::optional<Known> known;
  {
    MutexLock lock(mutex_);
    DropOld(clock_.MonotonicNow());
    if (const auto found = known_.find(key); found != known_.end()) {
      ++found->second.count;
      found->second.last_seen = clock_.MonotonicNow();
      known = found->second;
    }
  }
  if (!known) {
    Create(key, regarding, related, text);
    return;
  }
  const json patch = {
      {"series",
       {{"count", known->count}, {"lastObservedTime", kube::FormatMicroTime(clock_.WallNow())}}}};
  const absl::Status status = api_.Patch({kube::kEvents, NamespaceOf(regarding), known->name, ""},
                                         kube::PatchType::kMerge, patch, Options())
                                  .status();
  if (absl::IsNotFound(status)) {
    Create(key, regarding, related, text);
  } else if (!status.ok()) {
    log_.Warning("Failed to write event", {{"error", MessageOf(status)}});
  }
}

void EventRecorder::Create(const std::string& key, const EventObject& regarding,
                           const EventObject* related, const EventText& text) {
  const std::string name = fmt::format(
      "{}.{:x}", regarding.name.substr(0, 200),
      static_cast<std::uint64_t>(clock_.WallNow().count()) ^ std::hash<std::string>()(key));
  json event = {{"apiVersion", "events.k8s.io/v1"},
                {"kind", "Event"},
                {"metadata", {{"name", name}, {"namespace", NamespaceOf(regarding)}}},
                {"eventTime", kube::FormatMicroTime(clock_.WallNow())},
                {"reportingController", kController},
                {"reportingInstance", instance_},
                {"action", std::string(text.action)},
                {"reason", std::string(text.reason)},
                {"regarding", Reference(regarding)},
                {"note", text.note.substr(0, kLongestNote)},
                {"type", text.warning ? "Warning" : "Normal"}};
  if (related != nullptr) event["related"] = Reference(*related);
  const absl::Status status =
      api_.Create(kube::kEvents, kube::Object(std::move(event)), Options()).status();
  if (!status.ok()) {
    log_.Warning("Failed to write event", {{"error", MessageOf(status)}});
    return;
  }
  MutexLock lock(mutex_);
  known_[key] = {name, clock_.MonotonicNow(), 1};
}

void EventRecorder::DropOld(std::chrono::nanoseconds now) {
  std::erase_if(known_,
                [now](const auto& entry) { return now - entry.second.last_seen > kSeriesWindow; });
  if (known_.size() >= kMostKnown) known_.clear();
}

}  // namespace podcache::control
