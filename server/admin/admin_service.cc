#include "server/admin/admin_service.h"

#include <atomic>
#include <chrono>
#include <string>

#include "common/base/mutex.h"
#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/admin/backend.h"
#include "server/admin/config_update.h"
#include "server/admin/resize_watcher.h"

namespace podcache::admin {

namespace {

// The protocol reads relative times up to this as relative (protocol.md 1).
constexpr std::int64_t kMaxFlushDelaySeconds = 30LL * 24 * 3600;

grpc::ServerUnaryReactor* Done(grpc::CallbackServerContext* context, const grpc::Status& status) {
  grpc::ServerUnaryReactor* reactor = context->DefaultReactor();
  reactor->Finish(status);
  return reactor;
}

class AdminService final : public v1::Admin::CallbackService {
 public:
  explicit AdminService(Backend& backend) : backend_(backend) {}

  grpc::ServerUnaryReactor* GetServerInfo(grpc::CallbackServerContext* context,
                                          const v1::GetServerInfoRequest* request,
                                          v1::ServerInfo* response) override;
  grpc::ServerUnaryReactor* GetConfig(grpc::CallbackServerContext* context,
                                      const v1::GetConfigRequest* request,
                                      v1::Config* response) override;
  grpc::ServerUnaryReactor* UpdateConfig(grpc::CallbackServerContext* context,
                                         const v1::UpdateConfigRequest* request,
                                         v1::Config* response) override;
  grpc::ServerWriteReactor<v1::ResizeProgress>* WatchResize(
      grpc::CallbackServerContext* context, const v1::WatchResizeRequest* request) override;
  grpc::ServerUnaryReactor* GetStats(grpc::CallbackServerContext* context,
                                     const v1::GetStatsRequest* request,
                                     v1::Stats* response) override;
  grpc::ServerUnaryReactor* Flush(grpc::CallbackServerContext* context,
                                  const v1::FlushRequest* request,
                                  v1::FlushResponse* response) override;

 private:
  Backend& backend_;
  std::atomic<int> watches_{0};
  Mutex update_mutex_;  // One update at a time: check and change belong together.
};

grpc::ServerUnaryReactor* AdminService::GetServerInfo(grpc::CallbackServerContext* context,
                                                      const v1::GetServerInfoRequest*,
                                                      v1::ServerInfo* response) {
  *response = backend_.GetServerInfo();
  return Done(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::GetConfig(grpc::CallbackServerContext* context,
                                                  const v1::GetConfigRequest*,
                                                  v1::Config* response) {
  *response = backend_.GetConfig();
  return Done(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::UpdateConfig(grpc::CallbackServerContext* context,
                                                     const v1::UpdateConfigRequest* request,
                                                     v1::Config* response) {
  ConfigChange change;
  grpc::Status status = ReadConfigChange(*request, &change);
  if (status.ok()) {
    MutexLock lock(update_mutex_);
    status = ApplyConfigChange(change, backend_);
  }
  if (status.ok()) *response = backend_.GetConfig();
  return Done(context, status);
}

grpc::ServerWriteReactor<v1::ResizeProgress>* AdminService::WatchResize(
    grpc::CallbackServerContext*, const v1::WatchResizeRequest* request) {
  return NewResizeWatcher(*request, backend_, watches_);
}

grpc::ServerUnaryReactor* AdminService::GetStats(grpc::CallbackServerContext* context,
                                                 const v1::GetStatsRequest*, v1::Stats* response) {
  *response = backend_.GetStats();
  return Done(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::Flush(grpc::CallbackServerContext* context,
                                              const v1::FlushRequest* request, v1::FlushResponse*) {
  const std::int64_t seconds = request->delay().seconds();
  if (seconds < 0 || seconds > kMaxFlushDelaySeconds || request->delay().nanos() < 0) {
    return Done(context, {grpc::StatusCode::INVALID_ARGUMENT,
                          "delay = " + std::to_string(seconds) + " s: must be from 0 to " +
                              std::to_string(kMaxFlushDelaySeconds) + " s (30 days)"});
  }
  // Whole seconds, as the protocol's flush_all has them; a fraction counts as a further second.
  backend_.Flush(std::chrono::seconds(seconds + (request->delay().nanos() > 0 ? 1 : 0)));
  return Done(context, grpc::Status::OK);
}

}  // namespace

std::unique_ptr<grpc::Service> NewAdminService(Backend& backend) {
  return std::make_unique<AdminService>(backend);
}

}  // namespace podcache::admin
