#include "server/admin/admin_service.h"

#include <chrono>
#include <string>

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

}  // namespace

grpc::ServerUnaryReactor* AdminService::GetServerInfo(grpc::CallbackServerContext* context,
                                                      const v1::GetServerInfoRequest*,
                                                      v1::ServerInfo* response) {
  *response = backend_.GetServerInfo();
  return Done(context, grpc::Status::OK);
}

grpc::ServerUnaryReactor* AdminService::GetConfig(grpc::CallbackServerContext* context,
                                                  const v1::GetConfigRequest*, v1::Config* response) {
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
  return new ResizeWatcher(*request, backend_, watches_);
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

}  // namespace podcache::admin
