// The wire format of admission: AdmissionReview admission.k8s.io/v1, request in, response out.
//
// Nothing of the input is trusted: size is limited by the HTTP server, depth and types here.
// Threads: any; pure functions. Source: Kubernetes, "Dynamic Admission Control".
#pragma once

#include <cstddef>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace podcache::control {

// Deeper documents are refused: objects of Kubernetes stay far below, and copying is recursive.
inline constexpr int kMaxJsonDepth = 64;

struct AdmissionRequest {
  AdmissionRequest();
  AdmissionRequest(AdmissionRequest&&) noexcept;
  AdmissionRequest& operator=(AdmissionRequest&&) noexcept;
  ~AdmissionRequest();

  std::string uid;
  std::string operation;  // CREATE, UPDATE, …
  std::string group;      // Of the object's kind.
  std::string kind;
  std::string ns;
  bool dry_run = false;
  std::unique_ptr<nlohmann::json> object;  // Never null; an object in JSON.
};

struct AdmissionResponse {
  bool allowed = true;
  std::string message;                // Why not, for people.
  std::string patch;                  // JSON patch as text; empty: nothing to change.
  std::vector<std::string> warnings;  // Shown by kubectl.
};

// InvalidArgument says what is wrong and where.
absl::StatusOr<AdmissionRequest> DecodeAdmissionReview(std::string_view body);

// The review that answers the request of this uid.
std::string EncodeAdmissionReview(std::string_view uid, const AdmissionResponse& response);

}  // namespace podcache::control
