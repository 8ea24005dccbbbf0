#include "server/admin/admin_credentials.h"

#include <grpcpp/security/server_credentials.h>

#include <chrono>

#include "common/tls/certificate.h"
#include "common/tls/identity.h"

namespace podcache::admin {

namespace {
// Nobody checks this certificate's dates: what counts is the proof it carries. It lasts as long as
// the process may.
constexpr std::chrono::hours kLifetime{24 * 3650};
}  // namespace

bool ReadAdminTrust(const std::string& ca_pem, const std::string& identity_hex, AdminTrust* trust,
                    std::string* error) {
  if (ca_pem.empty() && identity_hex.empty()) return true;
  if (ca_pem.empty() || identity_hex.empty()) {
    *error =
        std::string(ca_pem.empty() ? "PODCACHE_ADMIN_CA" : "PODCACHE_ADMIN_IDENTITY") +
        " is missing: the admin port needs both of PODCACHE_ADMIN_CA and PODCACHE_ADMIN_IDENTITY";
    return false;
  }
  const auto ca = tls::ReadCertificate(ca_pem, error);
  if (!ca || !ca->is_ca) {
    *error = "PODCACHE_ADMIN_CA is no CA certificate in PEM" + (ca ? std::string() : ": " + *error);
    return false;
  }
  auto secret = tls::HexDecode(identity_hex);
  if (!secret || secret->size() != tls::kIdentitySecretBytes) {
    *error = "PODCACHE_ADMIN_IDENTITY must be 64 hex digits";
    return false;
  }
  trust->client_ca_pem = ca_pem;
  trust->identity_secret = *std::move(secret);
  return true;
}

std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const AdminTrust& trust,
                                                               std::int64_t now_unix_seconds,
                                                               std::string* error) {
  const auto key = tls::MakePrivateKey(error);
  const auto public_key = key ? tls::PublicKeyDer(*key, error) : std::nullopt;
  if (!public_key) return nullptr;
  tls::LeafRequest request;
  request.common_name = "podcached";
  request.dns_names = {tls::kAdminServerName,
                       tls::IdentityDnsName(trust.identity_secret, *public_key)};
  request.usage = tls::Usage::kServer;
  request.validity = tls::ValidFrom(now_unix_seconds, kLifetime);
  const auto certificate = tls::SelfSign(*key, request, error);
  if (!certificate) return nullptr;

  grpc::SslServerCredentialsOptions options(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  options.pem_root_certs = trust.client_ca_pem;
  options.pem_key_cert_pairs.push_back({*key, *certificate});
  return grpc::SslServerCredentials(options);
}

}  // namespace podcache::admin
