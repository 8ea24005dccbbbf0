#include "operator/webhook/admission_review.h"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "common/status/status.h"
#include "operator/webhook/base64.h"
#include "operator/webhook/json_access.h"

namespace podcache::control {

namespace {

using nlohmann::json;

constexpr std::string_view kApiVersion = "admission.k8s.io/v1";
// The API server cuts off longer ones, and all of them together at 4096.
constexpr std::size_t kMaxWarningBytes = 256;
constexpr std::size_t kMaxWarnings = 12;

absl::Status Malformed(std::string_view message) { return InvalidArgument(message); }

absl::StatusOr<json> ParseBounded(std::string_view body) {
  const auto limit_depth = [](int depth, json::parse_event_t, json&) {
    if (depth > kMaxJsonDepth) throw std::length_error("nested too deeply");
    return true;
  };
  try {
    return json::parse(body, limit_depth);
  } catch (const std::length_error&) {
    return Malformed("JSON is nested deeper than " + std::to_string(kMaxJsonDepth) + " levels");
  } catch (const json::exception& error) {
    return Malformed("body is not JSON: " + std::string(error.what()).substr(0, 200));
  }
}

}  // namespace

AdmissionRequest::AdmissionRequest() : object(std::make_unique<json>(json::object())) {}
AdmissionRequest::AdmissionRequest(AdmissionRequest&&) noexcept = default;
AdmissionRequest& AdmissionRequest::operator=(AdmissionRequest&&) noexcept = default;
AdmissionRequest::~AdmissionRequest() = default;

absl::StatusOr<AdmissionRequest> DecodeAdmissionReview(std::string_view body) {
  PODCACHE_ASSIGN_OR_RETURN(json review, ParseBounded(body));
  if (!review.is_object()) return Malformed("body is not a JSON object");
  if (Text(review, "kind") != "AdmissionReview") return Malformed("kind is not AdmissionReview");
  if (Text(review, "apiVersion") != kApiVersion) {
    return Malformed("apiVersion is not " + std::string(kApiVersion));
  }
  const json& request = Member(review, "request");
  if (!request.is_object()) return Malformed("request is missing");
  AdmissionRequest decoded;
  decoded.uid = Text(request, "uid");
  if (decoded.uid.empty() || decoded.uid.size() > 128)
    return Malformed("request.uid is missing or too long");
  decoded.operation = Text(request, "operation");
  decoded.group = Text(Member(request, "kind"), "group");
  decoded.kind = Text(Member(request, "kind"), "kind");
  decoded.ns = Text(request, "namespace");
  const json& dry_run = Member(request, "dryRun");
  decoded.dry_run = dry_run.is_boolean() && dry_run.get<bool>();
  const json& object = Member(request, "object");
  if (!object.is_object()) return Malformed("request.object is missing");
  *decoded.object = object;
  return decoded;
}

std::string EncodeAdmissionReview(std::string_view uid, const AdmissionResponse& response) {
  json answer = {{"uid", uid}, {"allowed", response.allowed}};
  if (!response.allowed) {
    answer["status"] = {{"code", 403}, {"reason", "Forbidden"}, {"message", response.message}};
  }
  if (response.allowed && !response.patch.empty()) {
    answer["patchType"] = "JSONPatch";
    answer["patch"] = EncodeBase64(response.patch);
  }
  for (const std::string& warning : response.warnings) {
    if (answer["warnings"].size() == kMaxWarnings) break;
    answer["warnings"].push_back(warning.substr(0, kMaxWarningBytes));
  }
  const json review = {
      {"apiVersion", kApiVersion}, {"kind", "AdmissionReview"}, {"response", std::move(answer)}};
  return review.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace podcache::control
