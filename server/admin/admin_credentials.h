// The server's side of docs/designs/0002-admin-trust.md: a key that lives in memory only, a
// self-signed certificate with the proof of identity, and the operator's CA as the only issuer of
// clients.
//
// Threads: pure functions.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

namespace grpc {
class ServerCredentials;
}

namespace podcache::admin {

struct AdminTrust {
  std::string client_ca_pem;    // PODCACHE_ADMIN_CA; empty: none.
  std::string identity_secret;  // 32 bytes, from PODCACHE_ADMIN_IDENTITY; empty: none.

  bool given() const { return !client_ca_pem.empty(); }
};

// From the two environment variables' values. False with the reason in `error` (which never holds a
// secret): one without the other, a CA that is no certificate, an identity that is not 64 hex
// digits.
bool ReadAdminTrust(const std::string& ca_pem, const std::string& identity_hex, AdminTrust* trust,
                    std::string* error);

// Null with the reason in `error` on failure.
std::shared_ptr<grpc::ServerCredentials> MakeServerCredentials(const AdminTrust& trust,
                                                               std::int64_t now_unix_seconds,
                                                               std::string* error);

}  // namespace podcache::admin
