#include "common/status/status.h"

#include "absl/strings/cord.h"

namespace podcache {

std::string ToString(const absl::Status& status) { return status.ToString(); }

absl::Status MakeStatus(absl::StatusCode code, std::string_view message) {
  return {code, ToAbsl(message)};
}

absl::Status NotFound(std::string_view message) {
  return MakeStatus(absl::StatusCode::kNotFound, message);
}
absl::Status AlreadyExists(std::string_view message) {
  return MakeStatus(absl::StatusCode::kAlreadyExists, message);
}
absl::Status InvalidArgument(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInvalidArgument, message);
}
absl::Status FailedPrecondition(std::string_view message) {
  return MakeStatus(absl::StatusCode::kFailedPrecondition, message);
}
absl::Status Unavailable(std::string_view message) {
  return MakeStatus(absl::StatusCode::kUnavailable, message);
}
absl::Status Internal(std::string_view message) {
  return MakeStatus(absl::StatusCode::kInternal, message);
}

absl::Status WithContext(const absl::Status& status, std::string_view context) {
  if (status.ok()) return status;
  absl::Status result =
      MakeStatus(status.code(), std::string(context).append(": ").append(MessageOf(status)));
  status.ForEachPayload([&result](absl::string_view type, const absl::Cord& payload) {
    result.SetPayload(type, payload);
  });
  return result;
}

}  // namespace podcache
