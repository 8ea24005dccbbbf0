// The gRPC service podcache.admin.v1.Admin over a Backend, with gRPC's callback API: no thread waits for a call.
//
// Threads: gRPC's. Ownership: the backend outlives the service, the service outlives the gRPC server it is registered with.
// Included by .cc files only: it needs gRPC's headers.
#pragma once

#include <atomic>

#include "common/base/mutex.h"
#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/admin/backend.h"

namespace podcache::admin {

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
                                     const v1::GetStatsRequest* request, v1::Stats* response) override;
  grpc::ServerUnaryReactor* Flush(grpc::CallbackServerContext* context, const v1::FlushRequest* request,
                                  v1::FlushResponse* response) override;

 private:
  Backend& backend_;
  std::atomic<int> watches_{0};
  Mutex update_mutex_;  // One update at a time: check and change belong together.
};

}  // namespace podcache::admin
