#include "server/admin/resize_watcher.h"

#include <google/protobuf/util/time_util.h>
#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <string>

#include "common/base/mutex.h"
#include "podcache/admin/v1/admin.pb.h"

namespace podcache::admin {

namespace {

std::string RangeText() {
  return "must be from " + std::to_string(kMinWatchInterval.count()) + " ms to " +
         std::to_string(kMaxWatchInterval.count()) + " s";
}

// gRPC's callbacks may overlap (a cancellation during a write): the state is guarded.
class ResizeWatcher final : public grpc::ServerWriteReactor<v1::ResizeProgress> {
 public:
  ResizeWatcher(const v1::WatchResizeRequest& request, const Backend& backend,
                std::atomic<int>& active);

  void OnWriteDone(bool ok) override;
  void OnCancel() override;
  void OnDone() override;

 private:
  ~ResizeWatcher() override = default;
  void Send() EXCLUDES(mutex_);
  // The interval is over, or was cut short by a cancellation.
  void OnAlarm(bool ok) EXCLUDES(mutex_);
  void FinishOnce(const grpc::Status& status) EXCLUDES(mutex_);

  const Backend& backend_;
  std::atomic<int>& active_;
  std::chrono::milliseconds interval_ = kDefaultWatchInterval;
  v1::ResizeProgress message_;
  grpc::Alarm alarm_;
  Mutex mutex_;
  bool cancelled_ GUARDED_BY(mutex_) = false;
  bool finished_ GUARDED_BY(mutex_) = false;
};

ResizeWatcher::ResizeWatcher(const v1::WatchResizeRequest& request, const Backend& backend,
                             std::atomic<int>& active)
    : backend_(backend), active_(active) {
  const int now_active = active_.fetch_add(1) + 1;
  if (request.has_interval()) {
    const auto& asked = request.interval();
    // Seconds first: a huge duration must not overflow on its way to milliseconds.
    const bool plausible = asked.seconds() >= 0 && asked.seconds() <= kMaxWatchInterval.count();
    interval_ = std::chrono::milliseconds(
        plausible ? google::protobuf::util::TimeUtil::DurationToMilliseconds(asked) : -1);
    if (interval_ < kMinWatchInterval || interval_ > kMaxWatchInterval) {
      FinishOnce({grpc::StatusCode::INVALID_ARGUMENT,
                  "interval = " + std::to_string(asked.seconds()) + "." +
                      std::to_string(asked.nanos()) + " (seconds.nanoseconds) " + RangeText()});
      return;
    }
  }
  if (now_active > kMaxWatches) {
    FinishOnce({grpc::StatusCode::RESOURCE_EXHAUSTED,
                std::to_string(kMaxWatches) + " resize watches are open already"});
    return;
  }
  Send();
}

void ResizeWatcher::Send() {
  message_ = backend_.GetResizeProgress();
  StartWrite(&message_);
}

void ResizeWatcher::OnWriteDone(bool ok) {
  if (!ok) {
    FinishOnce(grpc::Status::CANCELLED);
    return;
  }
  if (message_.done()) {
    FinishOnce(grpc::Status::OK);
    return;
  }
  {
    MutexLock lock(mutex_);
    if (!cancelled_) {
      alarm_.Set(std::chrono::system_clock::now() + interval_,
                 [this](bool rang) { OnAlarm(rang); });
      return;
    }
  }
  FinishOnce(grpc::Status::CANCELLED);
}

void ResizeWatcher::OnAlarm(bool ok) {
  bool go_on = false;
  {
    MutexLock lock(mutex_);
    go_on = ok && !cancelled_;
  }
  if (go_on) {
    Send();
  } else {
    FinishOnce(grpc::Status::CANCELLED);
  }
}

void ResizeWatcher::OnCancel() {
  MutexLock lock(mutex_);
  cancelled_ = true;
  // A pending alarm ends the stream in OnAlarm, a write under way in OnWriteDone.
  alarm_.Cancel();
}

void ResizeWatcher::FinishOnce(const grpc::Status& status) {
  {
    MutexLock lock(mutex_);
    if (finished_) return;
    finished_ = true;
  }
  Finish(status);
}

void ResizeWatcher::OnDone() {
  active_.fetch_sub(1);
  delete this;
}

}  // namespace

grpc::ServerWriteReactor<v1::ResizeProgress>* NewResizeWatcher(
    const v1::WatchResizeRequest& request, const Backend& backend, std::atomic<int>& active) {
  return new ResizeWatcher(request, backend, active);
}

}  // namespace podcache::admin
