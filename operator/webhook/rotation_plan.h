// Which certificates are due and in which order they may replace each other: a pure function of
// what the Secret holds, of the bundle that the API server has, and of the time.
//
// Order of a change of CA: the next CA enters the bundle; the API server has the bundle (and time
// to have noticed); only then a leaf signed by it is made. Retired CAs stay in the bundle until
// they expire. The admin CA is not rotated: running pods keep the one they were born with, so it
// lives as long as any of them could.
//
// Everything is renewed at 2/3 of its life. Parts that are missing or damaged are made anew, the
// rest is kept. Threads: pure functions, and OpenSSL's random numbers.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "operator/webhook/certificate_set.h"

namespace podcache::control {

struct RotationOptions {
  std::vector<std::string> dns_names;     // Of the webhook's leaf.
  std::vector<std::string> ip_addresses;  // The same, where it is reached by URL.
  std::chrono::seconds ca_lifetime = std::chrono::hours(24 * 365);
  std::chrono::seconds leaf_lifetime = std::chrono::hours(24 * 90);
  std::chrono::seconds admin_ca_lifetime = std::chrono::hours(24 * 365 * 20);
  // From a bundle with the next CA being in place to the first leaf signed by it.
  std::chrono::seconds propagation = std::chrono::minutes(5);
};

struct RotationPlan {
  CertificateSet set;
  bool changed = false;              // The Secret must be written.
  std::vector<std::string> changes;  // For the log: "webhook leaf", "next webhook CA", …
};

// `published_bundle_pem`: the CA bundle now in the webhook configuration.
absl::StatusOr<RotationPlan> PlanRotation(const CertificateSet& current,
                                          std::string_view published_bundle_pem,
                                          std::int64_t now_unix_seconds,
                                          const RotationOptions& options);

// Two thirds of the validity are over, or it cannot be read at all.
bool RenewalDue(std::string_view certificate_pem, std::int64_t now_unix_seconds);

}  // namespace podcache::control
