#include "common/tls/identity.h"

#include <openssl/crypto.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/rand.h>

#include <algorithm>
#include <array>

#include "common/base/check.h"
#include "common/tls/certificate.h"

namespace podcache::tls {

namespace {

constexpr std::size_t kDigestBytes = 32;
constexpr std::size_t kNonceBytes = 16;
constexpr std::size_t kLabelDigits = 32;
constexpr std::string_view kPurpose = "podcache-identity";
constexpr std::string_view kSuffix = ".identity.podcache.dev";

std::string RandomBytes(std::size_t n) {
  std::string bytes(n, '\0');
  // Without randomness nothing here is safe; OpenSSL fails only if the kernel has none to give.
  PODCACHE_CHECK(RAND_bytes(reinterpret_cast<unsigned char*>(bytes.data()), static_cast<int>(n)) ==
                 1);
  return bytes;
}

std::string HmacSha256(std::string_view key, std::string_view message) {
  std::array<unsigned char, kDigestBytes> digest{};
  unsigned int size = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(message.data());
  PODCACHE_CHECK(HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()), data, message.size(),
                      digest.data(), &size) != nullptr);
  return {reinterpret_cast<const char*>(digest.data()), size};
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string NewIdentityNonceHex() { return HexEncode(RandomBytes(kNonceBytes)); }

std::string NewIdentityKey() { return RandomBytes(kIdentitySecretBytes); }

std::string DeriveIdentitySecret(std::string_view key, std::string_view nonce_hex) {
  return HmacSha256(key, std::string(kPurpose).append(nonce_hex));
}

std::string IdentityDnsName(std::string_view secret, std::string_view public_key_der) {
  const std::string proof = HexEncode(HmacSha256(secret, public_key_der));
  return proof.substr(0, kLabelDigits) + "." + proof.substr(kLabelDigits) + std::string(kSuffix);
}

bool CertificateProvesIdentity(std::string_view certificate_pem, std::string_view secret) {
  // An empty secret would let anybody compute the proof.
  if (secret.size() != kIdentitySecretBytes) return false;
  const auto info = ReadCertificate(certificate_pem, nullptr);
  if (!info || info->public_key_der.empty()) return false;
  const std::string expected = IdentityDnsName(secret, info->public_key_der);
  return std::any_of(info->dns_names.begin(), info->dns_names.end(), [&](const std::string& name) {
    return name.size() == expected.size() &&
           CRYPTO_memcmp(name.data(), expected.data(), expected.size()) == 0;
  });
}

std::string HexEncode(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    const auto byte = static_cast<unsigned char>(c);
    hex.push_back(kDigits[byte >> 4]);
    hex.push_back(kDigits[byte & 0xf]);
  }
  return hex;
}

std::optional<std::string> HexDecode(std::string_view hex) {
  if (hex.size() % 2 != 0) return std::nullopt;
  std::string bytes;
  bytes.reserve(hex.size() / 2);
  for (std::size_t i = 0; i < hex.size(); i += 2) {
    const int high = HexDigit(hex[i]);
    const int low = HexDigit(hex[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    bytes.push_back(static_cast<char>(high * 16 + low));
  }
  return bytes;
}

}  // namespace podcache::tls
