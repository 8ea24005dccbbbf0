#include "operator/client/api_error.h"

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <utility>

#include "absl/strings/cord.h"

namespace podcache::kube {
namespace {

constexpr char kPayloadType[] = "podcache.dev/kube.ApiErrorDetails";
// Of a body that is no Status, so much is quoted.
constexpr std::size_t kMaxQuotedBody = 256;
constexpr std::size_t kMaxCauses = 64;

absl::StatusCode CodeOf(int http_code, std::string_view reason) {
  switch (http_code) {
    case 401:
      return absl::StatusCode::kUnauthenticated;
    case 403:
      return absl::StatusCode::kPermissionDenied;
    case 404:
      return absl::StatusCode::kNotFound;
    case 409:
      return reason == "AlreadyExists" ? absl::StatusCode::kAlreadyExists
                                       : absl::StatusCode::kAborted;
    case 410:
      return absl::StatusCode::kOutOfRange;
    case 429:
      return absl::StatusCode::kResourceExhausted;
    case 405:
    case 406:
    case 415:
    case 501:
      return absl::StatusCode::kUnimplemented;
    default:
      break;
  }
  if (http_code >= 500) return absl::StatusCode::kUnavailable;
  return http_code >= 400 ? absl::StatusCode::kInvalidArgument : absl::StatusCode::kInternal;
}

std::string TextField(const nlohmann::json& value, const char* key) {
  if (!value.is_object()) return "";
  const auto found = value.find(key);
  return found != value.end() && found->is_string() ? found->get<std::string>() : "";
}

void ReadDetails(const nlohmann::json& body, ApiErrorDetails& details) {
  const auto found = body.find("details");
  if (found == body.end() || !found->is_object()) return;
  if (const auto seconds = found->find("retryAfterSeconds");
      seconds != found->end() && seconds->is_number_integer() && seconds->get<std::int64_t>() > 0 &&
      !details.retry_after) {
    details.retry_after =
        std::min(std::chrono::seconds(seconds->get<std::int64_t>()), kMaxRetryAfter);
  }
  const auto causes = found->find("causes");
  if (causes == found->end() || !causes->is_array()) return;
  for (const nlohmann::json& cause : *causes) {
    if (details.causes.size() == kMaxCauses) break;
    details.causes.push_back(
        {TextField(cause, "reason"), TextField(cause, "field"), TextField(cause, "message")});
  }
}

ApiErrorDetails ReadBody(int http_code, std::string_view body,
                         std::optional<std::chrono::seconds> retry_after) {
  ApiErrorDetails details;
  details.http_code = http_code;
  if (retry_after) details.retry_after = std::min(*retry_after, kMaxRetryAfter);
  const nlohmann::json parsed = nlohmann::json::parse(body, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_object() && TextField(parsed, "kind") == "Status") {
    details.reason = TextField(parsed, "reason");
    details.message = TextField(parsed, "message");
    ReadDetails(parsed, details);
  } else {
    details.message = std::string(body.substr(0, kMaxQuotedBody));
  }
  return details;
}

std::string Serialize(const ApiErrorDetails& details) {
  nlohmann::json causes = nlohmann::json::array();
  for (const ApiErrorCause& cause : details.causes) {
    causes.push_back({cause.reason, cause.field, cause.message});
  }
  const nlohmann::json value = {
      details.http_code, details.reason, details.message, std::move(causes),
      details.retry_after ? details.retry_after->count() : std::int64_t{-1}};
  return value.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

ApiErrorDetails Deserialize(std::string_view text) {
  const nlohmann::json value = nlohmann::json::parse(text);
  ApiErrorDetails details;
  details.http_code = value.at(0).get<int>();
  details.reason = value.at(1).get<std::string>();
  details.message = value.at(2).get<std::string>();
  for (const nlohmann::json& cause : value.at(3)) {
    details.causes.push_back({cause.at(0).get<std::string>(), cause.at(1).get<std::string>(),
                              cause.at(2).get<std::string>()});
  }
  const auto seconds = value.at(4).get<std::int64_t>();
  if (seconds >= 0) details.retry_after = std::chrono::seconds(seconds);
  return details;
}

bool HasHttpCode(const absl::Status& status, int http_code) {
  const std::optional<ApiErrorDetails> details = GetApiErrorDetails(status);
  return details && details->http_code == http_code;
}

}  // namespace

absl::Status ErrorFromResponse(int http_code, std::string_view body,
                               std::optional<std::chrono::seconds> retry_after) {
  const ApiErrorDetails details = ReadBody(http_code, body, retry_after);
  std::string message = "HTTP " + std::to_string(http_code);
  if (!details.reason.empty()) message.append(" ").append(details.reason);
  if (!details.message.empty()) message.append(": ").append(details.message);
  absl::Status status = MakeStatus(CodeOf(http_code, details.reason), message);
  status.SetPayload(kPayloadType, absl::Cord(Serialize(details)));
  return status;
}

std::optional<ApiErrorDetails> GetApiErrorDetails(const absl::Status& status) {
  const auto payload = status.GetPayload(kPayloadType);
  if (!payload.has_value()) return std::nullopt;
  return Deserialize(std::string(*payload));
}

bool IsForbidden(const absl::Status& status) { return HasHttpCode(status, 403); }
bool IsUnauthorized(const absl::Status& status) { return HasHttpCode(status, 401); }
bool IsInvalid(const absl::Status& status) { return HasHttpCode(status, 422); }
bool IsBadRequest(const absl::Status& status) { return HasHttpCode(status, 400); }
bool IsTooManyRequests(const absl::Status& status) { return HasHttpCode(status, 429); }
bool IsMethodNotSupported(const absl::Status& status) { return HasHttpCode(status, 405); }

bool IsConflict(const absl::Status& status) {
  const auto details = GetApiErrorDetails(status);
  return details && details->http_code == 409 && details->reason != "AlreadyExists";
}

bool IsGone(const absl::Status& status) {
  const auto details = GetApiErrorDetails(status);
  return details &&
         (details->http_code == 410 || details->reason == "Expired" || details->reason == "Gone");
}

bool IsTooLargeResourceVersion(const absl::Status& status) {
  const auto details = GetApiErrorDetails(status);
  if (!details || details->http_code != 504) return false;
  // Servers before 1.19 give the text alone.
  if (details->message.find("Too large resource version") != std::string::npos) return true;
  return std::any_of(details->causes.begin(), details->causes.end(),
                     [](const auto& cause) { return cause.reason == "ResourceVersionTooLarge"; });
}

std::optional<std::chrono::seconds> RetryAfter(const absl::Status& status) {
  const auto details = GetApiErrorDetails(status);
  return details ? details->retry_after : std::nullopt;
}

}  // namespace podcache::kube
