// How a cache proves to the operator that it is the one the operator thinks of
// (docs/designs/0002-admin-trust.md).
//
// At admission the operator draws a nonce (public, in an annotation), derives the pod's identity
// secret from a key of its own and gives the secret to the container. The server's self-signed
// certificate carries an HMAC of its public key under that secret as a DNS name; the operator
// computes the same and compares.
//
// Threads: any; pure functions. Keys, secrets and digests are raw bytes in std::string, except
// where "hex" is in the name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace podcache::tls {

inline constexpr std::size_t kIdentitySecretBytes = 32;
// A name every server's certificate has besides its proof, and clients ask for: it proves nothing,
// TLS wants one.
inline constexpr char kAdminServerName[] = "podcached.podcache.dev";

// A fresh nonce for the annotation podcache.dev/identity: 32 hex digits.
std::string NewIdentityNonceHex();
// A fresh 32-byte key for the operator's Secret.
std::string NewIdentityKey();

// S = HMAC-SHA256(key, "podcache-identity" ‖ nonce), over the nonce's hex text as it stands in the
// annotation.
std::string DeriveIdentitySecret(std::string_view key, std::string_view nonce_hex);

// The DNS name that proves possession of `secret` by the owner of the key: two labels of 32 hex
// digits each of HMAC-SHA256(secret, SubjectPublicKeyInfo in DER), then ".identity.podcache.dev".
std::string IdentityDnsName(std::string_view secret, std::string_view public_key_der);

// True if the certificate carries, as a DNS name, the proof for its own public key under `secret`.
bool CertificateProvesIdentity(std::string_view certificate_pem, std::string_view secret);

std::string HexEncode(std::string_view bytes);
// Nothing for odd length or other characters; upper and lower case are accepted.
std::optional<std::string> HexDecode(std::string_view hex);

}  // namespace podcache::tls
