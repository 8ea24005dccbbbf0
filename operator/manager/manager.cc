#include "operator/manager/manager.h"

#include <algorithm>
#include <utility>

#include "common/base/stop_wait.h"

namespace podcache::kube {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Without an elector only the stop ends the wait.
constexpr std::chrono::hours kForever{24 * 365 * 100};

SteadyClock::duration TimeLeft(SteadyClock::time_point until) {
  return std::max(until - SteadyClock::now(), SteadyClock::duration::zero());
}

}  // namespace

Manager::Manager(ManagerOptions options, LeaderElector* elector, Logger log)
    : options_(std::move(options)), elector_(elector), log_(std::move(log)) {}

absl::Status Manager::WaitForSync(const std::stop_token& stop) {
  const auto until = SteadyClock::now() + options_.sync_timeout;
  for (const Informer* informer : informers_) {
    if (informer->WaitForSync(TimeLeft(until), stop)) continue;
    if (stop.stop_requested()) return absl::OkStatus();
    std::string message = "no first state of ";
    message.append(informer->type().plural).append(" in time");
    return MakeStatus(absl::StatusCode::kDeadlineExceeded, message);
  }
  return absl::OkStatus();
}

void Manager::SetLeading(bool leading) {
  leading_ = leading;
  if (options_.on_leadership) options_.on_leadership(leading);
}

bool Manager::StopControllers() {
  const auto until = SteadyClock::now() + options_.stop_timeout;
  for (Controller* controller : controllers_) controller->RequestStop();
  bool ended = true;
  for (Controller* controller : controllers_) ended = controller->Join(TimeLeft(until)) && ended;
  return ended;
}

absl::Status Manager::Lead(const std::stop_token& stop) {
  SetLeading(true);
  for (const auto& callback : on_leading_) callback();
  for (Controller* controller : controllers_) controller->Start();
  const bool held = elector_ == nullptr ? WaitOrStop(stop, kForever) : elector_->Hold(stop);
  SetLeading(false);
  // Nobody else leads yet: the lease is released only after the last reconcile.
  const bool ended = StopControllers();
  if (!held) return absl::AbortedError("leadership lost");
  if (!ended) {
    return MakeStatus(absl::StatusCode::kDeadlineExceeded, "reconciles did not end in time");
  }
  if (elector_ != nullptr) elector_->Release();
  return absl::OkStatus();
}

absl::Status Manager::Run(const std::stop_token& stop) {
  SetLeading(false);
  for (Informer* informer : informers_) informer->Start();
  absl::Status status = WaitForSync(stop);
  if (status.ok() && !stop.stop_requested()) {
    ready_ = true;
    log_.Info("Caches are filled", {{"informers", informers_.size()}});
    if (elector_ == nullptr || elector_->Acquire(stop)) status = Lead(stop);
  }
  ready_ = false;
  for (auto informer = informers_.rbegin(); informer != informers_.rend(); ++informer) {
    (*informer)->Stop();
  }
  return status;
}

}  // namespace podcache::kube
