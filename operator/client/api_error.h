// Errors of the Kubernetes API as absl::Status: the canonical code for who only passes errors on,
// the details of the API's Status body as a payload for who must decide.
//
//   403 PermissionDenied   404 NotFound   409 AlreadyExists, or Aborted for a conflict   410
//   OutOfRange 400, 422 InvalidArgument   401 Unauthenticated   429 ResourceExhausted   405, 406,
//   415, 501 Unimplemented 5xx and a failed connection Unavailable   a local deadline
//   DeadlineExceeded   a stop Cancelled
//
// Annotate() keeps the payload. Predicates answer false for OK and for errors of other origin.
// Source: API conventions, "Response Status Kind". Threads: any.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/status/status.h"

namespace podcache::kube {

struct ApiErrorCause {
  std::string reason;
  std::string field;
  std::string message;
};

struct ApiErrorDetails {
  int http_code = 0;
  std::string reason;  // "NotFound", "Conflict", "Expired", …; empty when the body was no Status.
  std::string message;  // As the server wrote it.
  std::vector<ApiErrorCause> causes;
  std::optional<std::chrono::seconds>
      retry_after;  // Header or details.retryAfterSeconds, at most 5 minutes.
};

// Longest wait a server may ask for.
inline constexpr std::chrono::seconds kMaxRetryAfter{300};

// From a response that is not 2xx. `body` may be anything; `retry_after` is the header's value.
absl::Status ErrorFromResponse(int http_code, std::string_view body,
                               std::optional<std::chrono::seconds> retry_after);

// Null when the status does not come from an API server's answer.
std::optional<ApiErrorDetails> GetApiErrorDetails(const absl::Status& status);

// absl::IsNotFound and absl::IsAlreadyExists, found by argument-dependent lookup, serve for 404 and
// AlreadyExists.
bool IsConflict(const absl::Status& status);
bool IsGone(const absl::Status& status);  // 410, reasons Gone and Expired.
bool IsForbidden(const absl::Status& status);
bool IsUnauthorized(const absl::Status& status);
bool IsInvalid(const absl::Status& status);     // 422.
bool IsBadRequest(const absl::Status& status);  // 400.
bool IsTooManyRequests(const absl::Status& status);
bool IsMethodNotSupported(const absl::Status& status);  // 405.
// The version asked for is not there yet: 504 with cause ResourceVersionTooLarge.
bool IsTooLargeResourceVersion(const absl::Status& status);
// What the server asked us to wait, if it did.
std::optional<std::chrono::seconds> RetryAfter(const absl::Status& status);

}  // namespace podcache::kube
