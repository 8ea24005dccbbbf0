#include "operator/client/api_error.h"

#include <gtest/gtest.h>

namespace podcache::kube {
namespace {

std::string StatusBody(int code, const std::string& reason, const std::string& details = "{}") {
  return R"({"kind":"Status","apiVersion":"v1","status":"Failure","message":"the message","reason":")" +
         reason + R"(","details":)" + details + R"(,"code":)" + std::to_string(code) + "}";
}

absl::Status Make(int code, const std::string& reason) {
  return ErrorFromResponse(code, StatusBody(code, reason), std::nullopt);
}

TEST(ApiErrorTest, CanonicalCodes) {
  EXPECT_EQ(Make(404, "NotFound").code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(Make(409, "AlreadyExists").code(), absl::StatusCode::kAlreadyExists);
  EXPECT_EQ(Make(409, "Conflict").code(), absl::StatusCode::kAborted);
  EXPECT_EQ(Make(410, "Expired").code(), absl::StatusCode::kOutOfRange);
  EXPECT_EQ(Make(401, "Unauthorized").code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(Make(403, "Forbidden").code(), absl::StatusCode::kPermissionDenied);
  EXPECT_EQ(Make(422, "Invalid").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make(400, "BadRequest").code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(Make(429, "TooManyRequests").code(), absl::StatusCode::kResourceExhausted);
  EXPECT_EQ(Make(405, "MethodNotAllowed").code(), absl::StatusCode::kUnimplemented);
  EXPECT_EQ(Make(503, "ServiceUnavailable").code(), absl::StatusCode::kUnavailable);
}

TEST(ApiErrorTest, Predicates) {
  EXPECT_TRUE(IsNotFound(Make(404, "NotFound")));
  EXPECT_TRUE(IsAlreadyExists(Make(409, "AlreadyExists")));
  EXPECT_FALSE(IsConflict(Make(409, "AlreadyExists")));
  EXPECT_TRUE(IsConflict(Make(409, "Conflict")));
  EXPECT_TRUE(IsGone(Make(410, "Gone")));
  EXPECT_TRUE(IsGone(Make(500, "Expired")));  // Some servers send the reason under another code.
  EXPECT_TRUE(IsForbidden(Make(403, "Forbidden")));
  EXPECT_TRUE(IsUnauthorized(Make(401, "Unauthorized")));
  EXPECT_TRUE(IsInvalid(Make(422, "Invalid")));
  EXPECT_FALSE(IsInvalid(Make(400, "BadRequest")));
  EXPECT_TRUE(IsBadRequest(Make(400, "BadRequest")));
  EXPECT_TRUE(IsTooManyRequests(Make(429, "TooManyRequests")));
  EXPECT_TRUE(IsMethodNotSupported(Make(405, "MethodNotAllowed")));
  EXPECT_FALSE(IsGone(absl::OkStatus()));
  EXPECT_FALSE(IsConflict(absl::AbortedError("of other origin")));
}

TEST(ApiErrorTest, ContextKeepsTheDetails) {
  const absl::Status status = WithContext(Make(409, "Conflict"), "apply Service shop/web");
  EXPECT_TRUE(IsConflict(status));
  EXPECT_EQ(MessageOf(status), "apply Service shop/web: HTTP 409 Conflict: the message");
  EXPECT_EQ(GetApiErrorDetails(status)->message, "the message");
}

TEST(ApiErrorTest, CausesNameTheFields) {
  const absl::Status status = ErrorFromResponse(
      422,
      StatusBody(
          422, "Invalid",
          R"({"causes":[{"reason":"FieldValueInvalid","message":"must be above 0","field":"spec.memory.size"}]})"),
      std::nullopt);
  const auto details = GetApiErrorDetails(status);
  ASSERT_EQ(details->causes.size(), 1u);
  EXPECT_EQ(details->causes[0].reason, "FieldValueInvalid");
  EXPECT_EQ(details->causes[0].field, "spec.memory.size");
  EXPECT_EQ(details->causes[0].message, "must be above 0");
}

TEST(ApiErrorTest, RetryAfterFromHeaderFirstThenBodyAndCapped) {
  const std::string body = StatusBody(429, "TooManyRequests", R"({"retryAfterSeconds":7})");
  EXPECT_EQ(RetryAfter(ErrorFromResponse(429, body, std::chrono::seconds(3))),
            std::chrono::seconds(3));
  EXPECT_EQ(RetryAfter(ErrorFromResponse(429, body, std::nullopt)), std::chrono::seconds(7));
  EXPECT_EQ(RetryAfter(ErrorFromResponse(429, "", std::nullopt)), std::nullopt);
  EXPECT_EQ(RetryAfter(ErrorFromResponse(503, "", std::chrono::hours(24))), kMaxRetryAfter);
}

TEST(ApiErrorTest, TooLargeResourceVersion) {
  const std::string cause = StatusBody(
      504, "Timeout", R"({"causes":[{"reason":"ResourceVersionTooLarge","message":"x"}]})");
  EXPECT_TRUE(IsTooLargeResourceVersion(ErrorFromResponse(504, cause, std::nullopt)));
  EXPECT_FALSE(IsTooLargeResourceVersion(Make(504, "Timeout")));
  EXPECT_FALSE(IsTooLargeResourceVersion(Make(500, "InternalError")));
}

TEST(ApiErrorTest, ABodyThatIsNoStatusIsQuotedShortly) {
  const absl::Status status =
      ErrorFromResponse(502, "<html>" + std::string(10'000, 'x'), std::nullopt);
  EXPECT_EQ(status.code(), absl::StatusCode::kUnavailable);
  EXPECT_LT(status.message().size(), 400u);
  EXPECT_EQ(GetApiErrorDetails(status)->reason, "");
  EXPECT_FALSE(ErrorFromResponse(500, "\xff\xfe", std::nullopt).ok());
  EXPECT_FALSE(
      ErrorFromResponse(500, R"({"kind":"Status","details":[],"code":"x"})", std::nullopt).ok());
}

}  // namespace
}  // namespace podcache::kube
