// Everything secret that the operator has, as it stands in its one Secret: the webhook's CA and
// leaf, the admin CA with the operator's client certificate, the key from which pods' identity
// secrets are derived (docs/designs/0002).
//
// Threads: values and pure functions.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "common/tls/certificate.h"

namespace podcache::control {

struct CertificateSet {
  tls::KeyPair webhook_ca;                      // Signs the leaf.
  std::optional<tls::KeyPair> webhook_next_ca;  // Already in the bundle, signs nothing yet.
  std::string webhook_bundle_pem;               // Every CA that the API server is to trust.
  tls::KeyPair webhook_leaf;
  tls::KeyPair admin_ca;
  tls::KeyPair admin_client;
  std::string identity_key;  // 32 raw bytes.
};

// The data of the Secret, decoded. What is missing reads as empty: the plan makes it anew.
using SecretData = std::map<std::string, std::string, std::less<>>;

CertificateSet FromSecretData(const SecretData& data);
SecretData ToSecretData(const CertificateSet& set);

// The certificates of a bundle, each in its own PEM text.
std::vector<std::string> SplitBundle(std::string_view bundle_pem);

}  // namespace podcache::control
