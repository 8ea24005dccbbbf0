// UpdateConfig: a field mask over the runtime configuration, applied as a whole or not at all.
//
// Threads: serialised by the caller (admin_service.cc holds a mutex), so that two updates never
// mix.
#pragma once

#include <cstdint>
#include <optional>

#include "server/admin/backend.h"

namespace grpc {
class Status;
}
namespace podcache::admin::v1 {
class UpdateConfigRequest;
}

namespace podcache::admin {

struct ConfigChange {
  std::optional<std::uint64_t> memory_target_bytes;
  std::optional<std::uint32_t> threads_target;
};

// What the mask names. INVALID_ARGUMENT for an empty mask, a mask without its value, and fields
// that cannot change.
grpc::Status ReadConfigChange(const v1::UpdateConfigRequest& request, ConfigChange* change);

// Checks all of it, then changes all of it. On an error nothing has changed.
grpc::Status ApplyConfigChange(const ConfigChange& change, Backend& backend);

}  // namespace podcache::admin
