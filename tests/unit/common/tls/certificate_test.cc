#include "common/tls/certificate.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <openssl/pem.h>
#include <openssl/x509_vfy.h>

#include "common/tls/openssl_util.h"

namespace podcache::tls {
namespace {

using ::testing::ElementsAre;

const Validity kYears{1'700'000'000, 2'000'000'000};

KeyPair TestCa(std::string_view name = "test ca") { return MakeCa(name, kYears, nullptr).value(); }

LeafRequest Request(Usage usage) {
  LeafRequest request;
  request.common_name = "leaf";
  request.dns_names = {"podcache-webhook.podcache-system.svc", "localhost"};
  request.ip_addresses = {"127.0.0.1", "fd00::1"};
  request.usage = usage;
  request.validity = {1'750'000'000, 1'760'000'000};
  return request;
}

// What a TLS peer does: builds the chain for a purpose at a time. Returns X509_V_OK or the reason.
int VerifyAsPeer(const std::string& leaf_pem, const std::string& ca_pem, int purpose, time_t at) {
  const auto leaf = internal::ParseCertificate(leaf_pem);
  const auto ca = internal::ParseCertificate(ca_pem);
  X509_STORE* store = X509_STORE_new();
  X509_STORE_add_cert(store, ca.get());
  X509_STORE_CTX* context = X509_STORE_CTX_new();
  X509_STORE_CTX_init(context, store, leaf.get(), nullptr);
  X509_STORE_CTX_set_purpose(context, purpose);
  X509_STORE_CTX_set_time(context, 0, at);
  X509_STORE_CTX_set_flags(context, X509_V_FLAG_X509_STRICT);
  X509_verify_cert(context);
  const int result = X509_STORE_CTX_get_error(context);
  X509_STORE_CTX_free(context);
  X509_STORE_free(store);
  return result;
}

TEST(CertificateTest, LeafHasTheNamesAndTimesAskedFor) {
  const auto leaf = IssueLeaf(TestCa(), Request(Usage::kServer), nullptr);
  ASSERT_TRUE(leaf);
  const auto info = ReadCertificate(leaf->certificate_pem, nullptr);
  ASSERT_TRUE(info);
  EXPECT_EQ(info->common_name, "leaf");
  EXPECT_THAT(info->dns_names, ElementsAre("podcache-webhook.podcache-system.svc", "localhost"));
  EXPECT_THAT(info->ip_addresses, ElementsAre("127.0.0.1", "fd00::1"));
  EXPECT_FALSE(info->is_ca);
  EXPECT_EQ(info->validity.not_before_unix_seconds, 1'750'000'000);
  EXPECT_EQ(info->validity.not_after_unix_seconds, 1'760'000'000);
  EXPECT_EQ(info->public_key_der, PublicKeyDer(leaf->private_key_pem, nullptr));
  EXPECT_TRUE(KeyMatchesCertificate(*leaf));
}

TEST(CertificateTest, ChainHoldsForItsPurposeTimeAndCaOnly) {
  const KeyPair ca = TestCa();
  const auto server = IssueLeaf(ca, Request(Usage::kServer), nullptr);
  const auto client = IssueLeaf(ca, Request(Usage::kClient), nullptr);
  ASSERT_TRUE(server && client);
  const time_t valid = 1'755'000'000;
  const auto check = [&](const KeyPair& leaf, const KeyPair& issuer, int purpose, time_t at) {
    return VerifyAsPeer(leaf.certificate_pem, issuer.certificate_pem, purpose, at);
  };
  EXPECT_EQ(check(*server, ca, X509_PURPOSE_SSL_SERVER, valid), X509_V_OK);
  EXPECT_EQ(check(*client, ca, X509_PURPOSE_SSL_CLIENT, valid), X509_V_OK);
  EXPECT_EQ(check(*server, ca, X509_PURPOSE_SSL_CLIENT, valid), X509_V_ERR_INVALID_PURPOSE);
  EXPECT_EQ(check(*client, ca, X509_PURPOSE_SSL_CLIENT, 1'760'000'001),
            X509_V_ERR_CERT_HAS_EXPIRED);
  EXPECT_EQ(check(*client, ca, X509_PURPOSE_SSL_CLIENT, 1'749'999'999),
            X509_V_ERR_CERT_NOT_YET_VALID);
  EXPECT_NE(check(*client, TestCa("test ca"), X509_PURPOSE_SSL_CLIENT, valid), X509_V_OK);
}

TEST(CertificateTest, SignedByFindsTheIssuerAnywhereInTheBundle) {
  const KeyPair ca = TestCa();
  const KeyPair other = TestCa("test ca");  // The same name, another key.
  const auto leaf = IssueLeaf(ca, Request(Usage::kServer), nullptr);
  EXPECT_TRUE(SignedBy(leaf->certificate_pem, ca.certificate_pem));
  EXPECT_TRUE(SignedBy(leaf->certificate_pem, other.certificate_pem + ca.certificate_pem));
  EXPECT_FALSE(SignedBy(leaf->certificate_pem, other.certificate_pem));
  EXPECT_FALSE(SignedBy(leaf->certificate_pem, ""));
  EXPECT_FALSE(SignedBy("garbage", ca.certificate_pem));
}

TEST(CertificateTest, CaMaySignLeavesOnly) {
  const auto info = ReadCertificate(TestCa().certificate_pem, nullptr);
  ASSERT_TRUE(info);
  EXPECT_TRUE(info->is_ca);
  EXPECT_EQ(info->validity.not_after_unix_seconds, kYears.not_after_unix_seconds);
}

TEST(CertificateTest, SelfSignedLeafIsForTheGivenKey) {
  const auto key = MakePrivateKey(nullptr);
  const auto pem = SelfSign(*key, Request(Usage::kServer), nullptr);
  ASSERT_TRUE(pem);
  EXPECT_TRUE(KeyMatchesCertificate({*pem, *key}));
  EXPECT_FALSE(KeyMatchesCertificate({*pem, *MakePrivateKey(nullptr)}));
  EXPECT_FALSE(ReadCertificate(*pem, nullptr)->is_ca);
}

TEST(CertificateTest, TwoCertificatesDifferInFingerprint) {
  const KeyPair ca = TestCa();
  const auto one = IssueLeaf(ca, Request(Usage::kServer), nullptr);
  const auto two = IssueLeaf(ca, Request(Usage::kServer), nullptr);
  const std::string first = ReadCertificate(one->certificate_pem, nullptr)->sha256_hex;
  EXPECT_EQ(first.size(), 64U);
  EXPECT_NE(first, ReadCertificate(two->certificate_pem, nullptr)->sha256_hex);
}

TEST(CertificateTest, ValidFromAllowsForClocksThatDiffer) {
  const Validity validity = ValidFrom(1'000'000, std::chrono::hours(24));
  EXPECT_EQ(validity.not_before_unix_seconds, 1'000'000 - 3600);
  EXPECT_EQ(validity.not_after_unix_seconds, 1'000'000 + 86400);
}

TEST(CertificateTest, BadInputIsAnErrorWithAReason) {
  std::string error;
  EXPECT_FALSE(ReadCertificate("", &error));
  EXPECT_THAT(error, ::testing::StartsWith("read certificate"));
  EXPECT_FALSE(IssueLeaf({"x", "y"}, Request(Usage::kServer), &error));
  EXPECT_THAT(error, ::testing::StartsWith("read CA"));
  EXPECT_FALSE(SelfSign("x", Request(Usage::kServer), &error));
  LeafRequest bad = Request(Usage::kServer);
  bad.ip_addresses = {"300.1.2.3"};
  EXPECT_FALSE(IssueLeaf(TestCa(), bad, &error));
  EXPECT_THAT(error, ::testing::HasSubstr("'leaf'"));
}

// A comma in a name must not start another entry: names are values, not configuration text.
TEST(CertificateTest, NamesAreNotParsed) {
  LeafRequest request = Request(Usage::kServer);
  request.dns_names = {"a,DNS:evil.example"};
  request.ip_addresses = {};
  const auto leaf = IssueLeaf(TestCa(), request, nullptr);
  ASSERT_TRUE(leaf);
  EXPECT_THAT(ReadCertificate(leaf->certificate_pem, nullptr)->dns_names,
              ElementsAre("a,DNS:evil.example"));
}

}  // namespace
}  // namespace podcache::tls
