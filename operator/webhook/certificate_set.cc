#include "operator/webhook/certificate_set.h"

namespace podcache::control {

namespace {

std::string Value(const SecretData& data, std::string_view key) {
  const auto found = data.find(key);
  return found == data.end() ? std::string() : found->second;
}

tls::KeyPair Pair(const SecretData& data, const std::string& name) {
  return {Value(data, name + ".crt"), Value(data, name + ".key")};
}

void Put(SecretData& data, const std::string& name, const tls::KeyPair& pair) {
  data[name + ".crt"] = pair.certificate_pem;
  data[name + ".key"] = pair.private_key_pem;
}

}  // namespace

CertificateSet FromSecretData(const SecretData& data) {
  CertificateSet set;
  set.webhook_ca = Pair(data, "webhook-ca");
  if (data.contains("webhook-next-ca.crt")) set.webhook_next_ca = Pair(data, "webhook-next-ca");
  set.webhook_bundle_pem = Value(data, "webhook-ca-bundle.crt");
  set.webhook_leaf = Pair(data, "webhook");
  set.admin_ca = Pair(data, "admin-ca");
  set.admin_client = Pair(data, "admin-client");
  set.identity_key = Value(data, "identity.key");
  return set;
}

SecretData ToSecretData(const CertificateSet& set) {
  SecretData data;
  Put(data, "webhook-ca", set.webhook_ca);
  if (set.webhook_next_ca) Put(data, "webhook-next-ca", *set.webhook_next_ca);
  data["webhook-ca-bundle.crt"] = set.webhook_bundle_pem;
  Put(data, "webhook", set.webhook_leaf);
  Put(data, "admin-ca", set.admin_ca);
  Put(data, "admin-client", set.admin_client);
  data["identity.key"] = set.identity_key;
  return data;
}

std::vector<std::string> SplitBundle(std::string_view bundle_pem) {
  constexpr std::string_view kBegin = "-----BEGIN CERTIFICATE-----";
  constexpr std::string_view kEnd = "-----END CERTIFICATE-----";
  std::vector<std::string> certificates;
  for (std::size_t at = bundle_pem.find(kBegin); at != std::string_view::npos;
       at = bundle_pem.find(kBegin, at + 1)) {
    const std::size_t end = bundle_pem.find(kEnd, at);
    if (end == std::string_view::npos) break;
    certificates.push_back(std::string(bundle_pem.substr(at, end + kEnd.size() - at)) + "\n");
  }
  return certificates;
}

}  // namespace podcache::control
