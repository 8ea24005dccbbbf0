#include "common/tls/identity.h"

#include <gtest/gtest.h>

#include "common/tls/certificate.h"

namespace podcache::tls {
namespace {

const Validity kValidity{1'700'000'000, 1'800'000'000};

std::string ServerCertificate(const std::string& key, const std::string& dns_name) {
  LeafRequest request;
  request.common_name = "podcached";
  request.dns_names = {"localhost", dns_name};
  request.validity = kValidity;
  return SelfSign(key, request, nullptr).value();
}

TEST(HexTest, RoundTripsAndRefusesGarbage) {
  EXPECT_EQ(HexEncode(std::string("\x00\x7f\xff", 3)), "007fff");
  EXPECT_EQ(HexDecode("007FfF"), std::string("\x00\x7f\xff", 3));
  EXPECT_EQ(HexDecode(""), "");
  EXPECT_FALSE(HexDecode("abc"));
  EXPECT_FALSE(HexDecode("zz"));
  EXPECT_FALSE(HexDecode("0 "));
}

// HMAC-SHA256(key = 0x0b × 32, "podcache-identity" ‖ "00112233"), from
// printf 'podcache-identity00112233' | openssl dgst -sha256 -mac HMAC -macopt hexkey:$(printf
// '0b%.0s' $(seq 32))
TEST(IdentityTest, SecretIsHmacOfPurposeAndNonce) {
  EXPECT_EQ(HexEncode(DeriveIdentitySecret(std::string(32, '\x0b'), "00112233")),
            "7af4615a07a63e92e10189d0fcd9fedc173b432ebfe78899b190e6d387d72490");
}

// The same command over the bytes "public key" with key 0x0c × 32, cut into two labels of 32
// digits.
TEST(IdentityTest, NameIsHmacOfPublicKeyInTwoLabels) {
  EXPECT_EQ(
      IdentityDnsName(std::string(32, '\x0c'), "public key"),
      "a53d33158623b0d29c96a9a02a5b663c.115799dec317c6b6810344f9cbac014d.identity.podcache.dev");
}

TEST(IdentityTest, NoncesAndKeysAreFreshAndFullLength) {
  EXPECT_EQ(NewIdentityNonceHex().size(), 32U);
  EXPECT_NE(NewIdentityNonceHex(), NewIdentityNonceHex());
  EXPECT_EQ(NewIdentityKey().size(), 32U);
  EXPECT_NE(NewIdentityKey(), NewIdentityKey());
}

TEST(IdentityTest, AcceptsOnlyTheProofForTheCertificatesOwnKey) {
  const std::string secret = DeriveIdentitySecret(NewIdentityKey(), NewIdentityNonceHex());
  const std::string key = MakePrivateKey(nullptr).value();
  const std::string name = IdentityDnsName(secret, PublicKeyDer(key, nullptr).value());
  const std::string certificate = ServerCertificate(key, name);
  EXPECT_TRUE(CertificateProvesIdentity(certificate, secret));

  const std::string other_secret = DeriveIdentitySecret(NewIdentityKey(), NewIdentityNonceHex());
  EXPECT_FALSE(CertificateProvesIdentity(certificate, other_secret));
  // Somebody copies the name into a certificate for a key of his own.
  const std::string other_key = MakePrivateKey(nullptr).value();
  EXPECT_FALSE(CertificateProvesIdentity(ServerCertificate(other_key, name), secret));
  EXPECT_FALSE(CertificateProvesIdentity(ServerCertificate(key, "localhost2"), secret));
  EXPECT_FALSE(CertificateProvesIdentity("not a certificate", secret));
}

TEST(IdentityTest, AnEmptySecretProvesNothing) {
  const std::string key = MakePrivateKey(nullptr).value();
  const std::string name = IdentityDnsName("", PublicKeyDer(key, nullptr).value());
  EXPECT_FALSE(CertificateProvesIdentity(ServerCertificate(key, name), ""));
}

}  // namespace
}  // namespace podcache::tls
