#include "server/admin/config_update.h"

#include <grpcpp/support/status.h>

#include <string>

#include "podcache/admin/v1/admin.pb.h"

namespace podcache::admin {

namespace {

constexpr char kMemoryTarget[] = "memory.target_bytes";
constexpr char kThreadsTarget[] = "threads.target";

grpc::StatusCode CodeOf(ChangeCode code) {
  switch (code) {
    case ChangeCode::kOk:
      return grpc::StatusCode::OK;
    case ChangeCode::kOutOfRange:
      return grpc::StatusCode::INVALID_ARGUMENT;
    case ChangeCode::kExceedsCgroup:
      return grpc::StatusCode::FAILED_PRECONDITION;
    case ChangeCode::kFailed:
      return grpc::StatusCode::RESOURCE_EXHAUSTED;
  }
  return grpc::StatusCode::INTERNAL;
}

grpc::Status ToStatus(const ChangeResult& result, const char* field, std::uint64_t value) {
  if (result.ok()) return grpc::Status::OK;
  return {CodeOf(result.code),
          std::string(field) + " = " + std::to_string(value) + ": " + result.message};
}

grpc::Status Invalid(const std::string& message) {
  return {grpc::StatusCode::INVALID_ARGUMENT, message};
}

}  // namespace

grpc::Status ReadConfigChange(const v1::UpdateConfigRequest& request, ConfigChange* change) {
  const std::string changeable = std::string(kMemoryTarget) + ", " + kThreadsTarget;
  if (request.update_mask().paths().empty()) {
    return Invalid("update_mask names no field; changeable are " + changeable);
  }
  for (const std::string& path : request.update_mask().paths()) {
    if (path == kMemoryTarget) {
      change->memory_target_bytes = request.config().memory().target_bytes();
    } else if (path == kThreadsTarget) {
      change->threads_target = request.config().threads().target();
    } else {
      return Invalid("update_mask: '" + path.substr(0, 100) +
                     "' cannot be changed; changeable are " + changeable);
    }
  }
  return grpc::Status::OK;
}

grpc::Status ApplyConfigChange(const ConfigChange& change, Backend& backend) {
  const std::uint64_t memory = change.memory_target_bytes.value_or(0);
  const std::uint32_t threads = change.threads_target.value_or(0);
  if (change.memory_target_bytes) {
    const ChangeResult check = backend.CheckMemoryTarget(memory);
    if (!check.ok()) return ToStatus(check, kMemoryTarget, memory);
  }
  if (change.threads_target) {
    const ChangeResult check = backend.CheckThreadTarget(threads);
    if (!check.ok()) return ToStatus(check, kThreadsTarget, threads);
  }
  const std::uint32_t threads_before = backend.GetConfig().threads().target();
  if (change.threads_target) {
    const ChangeResult result = backend.SetThreadTarget(threads);
    if (!result.ok()) return ToStatus(result, kThreadsTarget, threads);
  }
  if (change.memory_target_bytes) {
    // May still fail after the check: the cgroup can have been lowered in between.
    const ChangeResult result = backend.SetMemoryTarget(memory);
    if (!result.ok()) {
      if (change.threads_target) static_cast<void>(backend.SetThreadTarget(threads_before));
      return ToStatus(result, kMemoryTarget, memory);
    }
  }
  return grpc::Status::OK;
}

}  // namespace podcache::admin
