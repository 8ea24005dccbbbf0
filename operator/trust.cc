#include "operator/trust.h"

#include "common/tls/identity.h"

namespace podcache::control {

void Trust::Set(const CertificateSet& set) {
  MutexLock lock(mutex_);
  admin_ca_pem_ = set.admin_ca.certificate_pem;
  identity_key_ = set.identity_key;
}

std::optional<AdminTrust> Trust::ForPods() const {
  MutexLock lock(mutex_);
  if (identity_key_.empty()) return std::nullopt;
  return AdminTrust{.ca_pem = admin_ca_pem_,
                    .identity_hex = [key = identity_key_](std::string_view nonce) {
                      return tls::HexEncode(tls::DeriveIdentitySecret(key, nonce));
                    }};
}

absl::StatusOr<std::string> Trust::IdentityOf(std::string_view nonce) const {
  MutexLock lock(mutex_);
  if (identity_key_.empty()) return FailedPrecondition("there are no certificates yet");
  return tls::DeriveIdentitySecret(identity_key_, nonce);
}

}  // namespace podcache::control
