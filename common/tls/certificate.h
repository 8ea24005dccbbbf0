// Keys and X.509 certificates: a self-signed CA, leaves it signs, and the read-out needed to decide
// on renewal.
//
// EC P-256 with SHA-256 throughout; PEM in and out (PKCS#8 for keys), so that no OpenSSL type
// leaves this module.
//
// Threads: any; pure functions of their arguments and OpenSSL's random numbers. Errors:
// std::nullopt with the reason in `error`, where the argument may be null.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::tls {

// A certificate with the private key of its subject.
struct KeyPair {
  std::string certificate_pem;
  std::string private_key_pem;
};

enum class Usage : std::uint8_t { kServer, kClient };

struct Validity {
  std::int64_t not_before_unix_seconds = 0;
  std::int64_t not_after_unix_seconds = 0;
};

// From an hour before `now` (clocks differ between nodes) to `lifetime` after it.
Validity ValidFrom(std::int64_t now_unix_seconds, std::chrono::seconds lifetime);

struct LeafRequest {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;  // Text form, either family.
  Usage usage = Usage::kServer;
  Validity validity;
};

// A CA that may sign leaves but no further CAs.
std::optional<KeyPair> MakeCa(std::string_view common_name, const Validity& validity,
                              std::string* error);

// A fresh key with a certificate signed by `ca`.
std::optional<KeyPair> IssueLeaf(const KeyPair& ca, const LeafRequest& request, std::string* error);

// A fresh private key in PEM, for a certificate whose names depend on its public part.
std::optional<std::string> MakePrivateKey(std::string* error);
// A certificate for that key signed by itself.
std::optional<std::string> SelfSign(std::string_view private_key_pem, const LeafRequest& request,
                                    std::string* error);

// The public part of a private key, as SubjectPublicKeyInfo in DER.
std::optional<std::string> PublicKeyDer(std::string_view private_key_pem, std::string* error);

struct CertificateInfo {
  std::string common_name;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  bool is_ca = false;
  Validity validity;
  std::string public_key_der;  // SubjectPublicKeyInfo.
  std::string sha256_hex;      // Fingerprint of the whole certificate.
};

// Of the first certificate in the text.
std::optional<CertificateInfo> ReadCertificate(std::string_view pem, std::string* error);

// True if the key belongs to the certificate.
bool KeyMatchesCertificate(const KeyPair& pair);
// True if a certificate in the bundle signed `certificate_pem`. Times are not looked at.
bool SignedBy(std::string_view certificate_pem, std::string_view ca_bundle_pem);

}  // namespace podcache::tls
