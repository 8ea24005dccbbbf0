// The gRPC service podcache.admin.v1.Admin over a Backend, with gRPC's callback API: no thread
// waits for a call.
//
// Threads: gRPC's. Ownership: the backend outlives the service, the service outlives the gRPC
// server it is registered with.
#pragma once

#include <memory>

namespace grpc {
class Service;
}

namespace podcache::admin {

class Backend;

std::unique_ptr<grpc::Service> NewAdminService(Backend& backend);

}  // namespace podcache::admin
