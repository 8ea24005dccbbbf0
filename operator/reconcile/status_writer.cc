#include "operator/reconcile/status_writer.h"

#include <nlohmann/json.hpp>
#include <optional>
#include <utility>

#include "common/status/status.h"
#include "operator/resources/names.h"

namespace podcache::control {

absl::StatusOr<std::chrono::nanoseconds> StatusWriter::Write(const kube::ResourceType& type,
                                                             const kube::Object& live,
                                                             const nlohmann::json& live_status,
                                                             const nlohmann::json& status) {
  const std::string uid(live.uid());
  const std::string text = status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  std::optional<Last> last;
  {
    MutexLock lock(mutex_);
    if (const auto found = last_.find(uid); found != last_.end()) last = found->second;
  }
  // Until the cache moves on, our own last write is the truth.
  const bool cache_is_behind = last && last->replaced_version == live.resource_version();
  const bool in_place = cache_is_behind ? last->written == text : live_status == status;
  if (in_place) return std::chrono::nanoseconds(0);
  if (last) {
    const auto since = clock_.MonotonicNow() - last->at;
    if (since < kLeastInterval) return kLeastInterval - since;
  }
  const kube::Object body(nlohmann::json{
      {"apiVersion", type.ApiVersion()},
      {"kind", std::string(type.kind)},
      {"metadata", {{"name", std::string(live.name())}, {"namespace", std::string(live.ns())}}},
      {"status", status}});
  kube::Object applied = body;
  if (!type.namespaced) applied.mutable_json()["metadata"].erase("namespace");
  PODCACHE_RETURN_IF_ERROR(
      WithContext(api_.Apply({type, std::string(live.ns()), std::string(live.name()), "status"},
                             applied, {.field_manager = std::string(kStatusFieldManager)})
                      .status(),
                  "writing status"));
  MutexLock lock(mutex_);
  last_[uid] = {clock_.MonotonicNow(), text, std::string(live.resource_version())};
  return std::chrono::nanoseconds(0);
}

void StatusWriter::Forget(const std::string& uid) {
  MutexLock lock(mutex_);
  last_.erase(uid);
}

}  // namespace podcache::control
