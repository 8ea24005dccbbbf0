// One WatchResize stream: a message at once, then one per interval until the resize is done.
//
// Threads: driven by gRPC's callbacks, which may overlap (a cancellation during a write); the state is guarded. Ownership: an
// instance deletes itself in OnDone. Never included by a header: it needs gRPC's.
#pragma once

#include <grpcpp/alarm.h>
#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <chrono>

#include "common/base/mutex.h"
#include "podcache/admin/v1/admin.pb.h"
#include "server/admin/backend.h"

namespace podcache::admin {

inline constexpr std::chrono::milliseconds kDefaultWatchInterval{100};
inline constexpr std::chrono::milliseconds kMinWatchInterval{10};
inline constexpr std::chrono::seconds kMaxWatchInterval{10};
inline constexpr int kMaxWatches = 16;

class ResizeWatcher final : public grpc::ServerWriteReactor<v1::ResizeProgress> {
 public:
  // `active` counts the streams; both outlive the gRPC server.
  ResizeWatcher(const v1::WatchResizeRequest& request, const Backend& backend, std::atomic<int>& active);

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

}  // namespace podcache::admin
