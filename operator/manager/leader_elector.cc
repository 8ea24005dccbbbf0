#include "operator/manager/leader_elector.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/stop_wait.h"
#include "operator/client/api_error.h"
#include "operator/client/time_text.h"

namespace podcache::kube {
namespace {

std::int64_t NumberAt(const Object& lease, std::string_view field, std::int64_t otherwise) {
  const nlohmann::json& value = lease.At({"spec", field});
  return value.is_number_integer() ? value.get<std::int64_t>() : otherwise;
}

}  // namespace

LeaderElector::LeaderElector(ApiClient& client, LeaderElectorOptions options, const Clock& clock,
                             std::uint64_t seed, Logger log)
    : client_(client),
      options_(std::move(options)),
      clock_(clock),
      log_(log.With({{"lease", options_.lease.ToString()}, {"identity", options_.identity}})),
      random_(seed) {}

absl::Status LeaderElector::Create() {
  const std::string now = FormatMicroTime(clock_.WallNow());
  const nlohmann::json lease = {
      {"apiVersion", kLeases.ApiVersion()},
      {"kind", kLeases.kind},
      {"metadata", {{"name", options_.lease.name}, {"namespace", options_.lease.ns}}},
      {"spec",
       {{"holderIdentity", options_.identity},
        {"leaseDurationSeconds", options_.lease_duration.count()},
        {"acquireTime", now},
        {"renewTime", now},
        {"leaseTransitions", 0}}}};
  return client_.Create(kLeases, Object(lease), {}).status();
}

absl::Status LeaderElector::Take(const Object& lease, bool renew) {
  const std::string now = FormatMicroTime(clock_.WallNow());
  Object next = lease;
  nlohmann::json& spec = next.mutable_json()["spec"];
  spec["holderIdentity"] = options_.identity;
  spec["leaseDurationSeconds"] = options_.lease_duration.count();
  spec["renewTime"] = now;
  if (!renew) {
    spec["acquireTime"] = now;
    spec["leaseTransitions"] = NumberAt(lease, "leaseTransitions", 0) + 1;
  }
  // With the resourceVersion that was read: of two takers one gets a conflict.
  return client_.Update(Ref(), next, {}).status();
}

void LeaderElector::Observe(const Object& lease) {
  std::string record = lease.At({"spec"}).dump();
  if (record == observed_) return;
  observed_ = std::move(record);
  observed_at_ = clock_.MonotonicNow();
}

bool LeaderElector::HolderExpired(const Object& lease) const {
  const std::chrono::seconds duration(
      NumberAt(lease, "leaseDurationSeconds", options_.lease_duration.count()));
  return clock_.MonotonicNow() - observed_at_ >= duration;
}

absl::Status LeaderElector::TryAcquireOrRenew() {
  const absl::StatusOr<Object> lease = client_.Get(Ref());
  if (absl::IsNotFound(lease.status())) return Create();
  if (!lease.ok()) return lease.status();
  Observe(*lease);
  const std::string holder(lease->TextAt({"spec", "holderIdentity"}));
  const bool ours = holder == options_.identity;
  if (!ours && leading_) return absl::AbortedError("taken by " + holder);
  if (!ours && !holder.empty() && !HolderExpired(*lease)) {
    return FailedPrecondition("held by " + holder);
  }
  return Take(*lease, ours);
}

Leadership LeaderElector::Lose(std::string_view reason) {
  lost_ = true;
  leading_ = false;
  log_.Error("Lost leadership", {{"reason", reason}});
  return Leadership::kLost;
}

Leadership LeaderElector::Step() {
  if (lost_) return Leadership::kLost;
  const std::chrono::nanoseconds started = clock_.MonotonicNow();
  if (leading_ && started - last_renewed_ >= options_.renew_deadline) {
    return Lose("renew deadline passed");
  }
  const absl::Status status = TryAcquireOrRenew();
  if (status.ok()) {
    // From before the request: the server may have written at any time since.
    last_renewed_ = started;
    if (!leading_.exchange(true)) log_.Info("Became leader");
    return Leadership::kLeading;
  }
  if (!leading_) {
    log_.Debug("Standing by", {{"reason", MessageOf(status)}});
    return Leadership::kStandby;
  }
  if (clock_.MonotonicNow() - last_renewed_ >= options_.renew_deadline || !IsOurs(status)) {
    return Lose(MessageOf(status));
  }
  log_.Warning("Cannot renew lease", {{"error", MessageOf(status)}});
  return Leadership::kLeading;
}

// Whether after this failure the lease may still be ours. A conflict is not a loss: somebody may
// have labelled the lease; the next attempt reads who holds it.
bool LeaderElector::IsOurs(const absl::Status& status) {
  return !absl::IsAborted(status) || IsConflict(status);
}

std::chrono::nanoseconds LeaderElector::NextDelay() {
  const std::chrono::nanoseconds period = options_.retry_period;
  if (leading_) {
    const std::chrono::nanoseconds left =
        last_renewed_ + options_.renew_deadline - clock_.MonotonicNow();
    return std::clamp(left, std::chrono::nanoseconds(0), period);
  }
  // Apart, so that standbys do not all try at the same instant.
  std::uniform_int_distribution<std::int64_t> jitter(period.count(), period.count() * 3 / 2);
  return std::chrono::nanoseconds(jitter(random_));
}

bool LeaderElector::Acquire(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    if (Step() == Leadership::kLeading) return true;
    WaitOrStop(stop, NextDelay());
  }
  return false;
}

bool LeaderElector::Hold(const std::stop_token& stop) {
  while (!WaitOrStop(stop, NextDelay())) {
    if (Step() != Leadership::kLeading) return false;
  }
  return true;
}

void LeaderElector::Release() {
  if (!leading_.exchange(false)) return;
  lost_ = true;  // A released elector leads no more.
  const absl::StatusOr<Object> lease = client_.Get(Ref());
  if (!lease.ok() || lease->TextAt({"spec", "holderIdentity"}) != options_.identity) return;
  Object next = *lease;
  nlohmann::json& spec = next.mutable_json()["spec"];
  spec["holderIdentity"] = "";
  spec["leaseDurationSeconds"] = 1;
  spec["renewTime"] = FormatMicroTime(clock_.WallNow());
  const absl::Status status = client_.Update(Ref(), next, {}).status();
  if (!status.ok()) log_.Warning("Cannot release lease", {{"error", MessageOf(status)}});
}

ObjectRef LeaderElector::Ref() const {
  return {.type = kLeases, .ns = options_.lease.ns, .name = options_.lease.name};
}

}  // namespace podcache::kube
