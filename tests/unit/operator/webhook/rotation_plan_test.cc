#include "operator/webhook/rotation_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/webhook/base64.h"

namespace podcache::control {
namespace {

using ::testing::Contains;
using ::testing::Not;

constexpr std::int64_t kStart = 1'700'000'000;
constexpr std::int64_t kDay = 24 * 3600;

class RotationPlanTest : public ::testing::Test {
 protected:
  RotationPlanTest() { options_.dns_names = {"podcache-webhook.podcache-system.svc"}; }

  // One visit of the leader, which publishes the bundle afterwards unless told not to.
  RotationPlan Visit(std::int64_t now, bool publish = true) {
    const auto plan = PlanRotation(set_, published_, now, options_);
    EXPECT_TRUE(plan.ok());
    set_ = plan->set;
    if (publish) published_ = set_.webhook_bundle_pem;
    return *plan;
  }

  static std::string Fingerprint(const std::string& pem) {
    return tls::ReadCertificate(pem, nullptr)->sha256_hex;
  }
  bool ServedLeafIsTrusted() const {
    return tls::SignedBy(set_.webhook_leaf.certificate_pem, published_);
  }

  RotationOptions options_;
  CertificateSet set_;
  std::string published_;
};

TEST_F(RotationPlanTest, FirstVisitMakesEverything) {
  EXPECT_TRUE(Visit(kStart).changed);
  EXPECT_TRUE(tls::SignedBy(set_.webhook_leaf.certificate_pem, set_.webhook_bundle_pem));
  EXPECT_TRUE(tls::SignedBy(set_.admin_client.certificate_pem, set_.admin_ca.certificate_pem));
  EXPECT_EQ(set_.identity_key.size(), 32U);
  EXPECT_EQ(tls::ReadCertificate(set_.webhook_leaf.certificate_pem, nullptr)->dns_names,
            options_.dns_names);
  EXPECT_FALSE(Visit(kStart + 60).changed) << "nothing is due a minute later";
}

TEST_F(RotationPlanTest, LeafIsRenewedAtTwoThirdsByTheSameCa) {
  Visit(kStart);
  const std::string ca = Fingerprint(set_.webhook_ca.certificate_pem);
  const std::string leaf = Fingerprint(set_.webhook_leaf.certificate_pem);
  Visit(kStart + 59 * kDay);
  EXPECT_EQ(Fingerprint(set_.webhook_leaf.certificate_pem), leaf);
  EXPECT_THAT(Visit(kStart + 60 * kDay + 3600).changes, Contains("webhook leaf"));
  EXPECT_NE(Fingerprint(set_.webhook_leaf.certificate_pem), leaf);
  EXPECT_EQ(Fingerprint(set_.webhook_ca.certificate_pem), ca);
}

TEST_F(RotationPlanTest, NextCaIsPublishedBeforeItSigns) {
  Visit(kStart);
  const std::string old_ca = set_.webhook_ca.certificate_pem;
  const std::int64_t due = kStart + 244 * kDay;
  EXPECT_THAT(Visit(due, false).changes, Contains("next webhook CA"));
  const std::string next_ca = set_.webhook_next_ca->certificate_pem;
  EXPECT_THAT(SplitBundle(set_.webhook_bundle_pem), testing::ElementsAre(old_ca, next_ca));

  // Not published: the old CA goes on signing, however long it takes.
  Visit(due + kDay, false);
  EXPECT_EQ(set_.webhook_ca.certificate_pem, old_ca);
  EXPECT_TRUE(ServedLeafIsTrusted());

  published_ = set_.webhook_bundle_pem;
  Visit(due + kDay + 1);
  EXPECT_EQ(set_.webhook_ca.certificate_pem, next_ca);
  EXPECT_TRUE(ServedLeafIsTrusted());
  EXPECT_THAT(SplitBundle(set_.webhook_bundle_pem), Contains(old_ca))
      << "other replicas may serve it";

  Visit(kStart + 366 * kDay);
  EXPECT_THAT(SplitBundle(set_.webhook_bundle_pem), Not(Contains(old_ca))) << "expired";
}

TEST_F(RotationPlanTest, PublishedCaWaitsForPropagation) {
  Visit(kStart);
  const std::int64_t due = kStart + 244 * kDay;
  Visit(due);
  Visit(due + options_.propagation.count() - 1);
  EXPECT_TRUE(set_.webhook_next_ca);
  Visit(due + options_.propagation.count());
  EXPECT_FALSE(set_.webhook_next_ca);
}

// Four years of weekly visits: whatever is served is trusted, in force and not close to its end.
TEST_F(RotationPlanTest, YearsWithoutAGap) {
  for (std::int64_t now = kStart; now < kStart + 4 * 365 * kDay; now += 7 * kDay) {
    Visit(now);
    ASSERT_TRUE(ServedLeafIsTrusted());
    const auto leaf = tls::ReadCertificate(set_.webhook_leaf.certificate_pem, nullptr);
    ASSERT_GT(leaf->validity.not_after_unix_seconds, now + 22 * kDay);
    ASSERT_LE(SplitBundle(set_.webhook_bundle_pem).size(), 3U);
  }
  const std::string admin_ca = set_.admin_ca.certificate_pem;
  EXPECT_EQ(tls::ReadCertificate(admin_ca, nullptr)->validity.not_before_unix_seconds,
            kStart - 3600);
}

TEST_F(RotationPlanTest, DamagedPartsAloneAreMadeAnew) {
  Visit(kStart);
  const CertificateSet good = set_;
  set_.webhook_leaf.private_key_pem = "garbage";
  set_.admin_client = {};
  Visit(kStart + 60);
  EXPECT_NE(set_.webhook_leaf.certificate_pem, good.webhook_leaf.certificate_pem);
  EXPECT_NE(set_.admin_client.certificate_pem, good.admin_client.certificate_pem);
  EXPECT_EQ(set_.webhook_ca.certificate_pem, good.webhook_ca.certificate_pem);
  EXPECT_EQ(set_.admin_ca.certificate_pem, good.admin_ca.certificate_pem);
  EXPECT_EQ(set_.identity_key, good.identity_key);
}

TEST_F(RotationPlanTest, OtherNamesBringAnotherLeaf) {
  Visit(kStart);
  options_.ip_addresses = {"127.0.0.1"};
  EXPECT_THAT(Visit(kStart + 60).changes, Contains("webhook leaf"));
  EXPECT_FALSE(Visit(kStart + 120).changed);
}

TEST_F(RotationPlanTest, SecretHoldsAllOfIt) {
  Visit(kStart);
  Visit(kStart + 244 * kDay);
  ASSERT_TRUE(set_.webhook_next_ca);
  const CertificateSet copy = FromSecretData(ToSecretData(set_));
  EXPECT_EQ(ToSecretData(copy), ToSecretData(set_));
  EXPECT_EQ(copy.identity_key, set_.identity_key);
  EXPECT_EQ(copy.webhook_next_ca->certificate_pem, set_.webhook_next_ca->certificate_pem);
}

// RFC 4648, section 10.
TEST(Base64Test, KnownVectors) {
  const std::vector<std::pair<std::string, std::string>> vectors = {{"", ""},
                                                                    {"f", "Zg=="},
                                                                    {"fo", "Zm8="},
                                                                    {"foo", "Zm9v"},
                                                                    {"foob", "Zm9vYg=="},
                                                                    {"fooba", "Zm9vYmE="},
                                                                    {"foobar", "Zm9vYmFy"}};
  for (const auto& [plain, encoded] : vectors) {
    EXPECT_EQ(EncodeBase64(plain), encoded);
    EXPECT_EQ(DecodeBase64(encoded), plain);
  }
  EXPECT_EQ(DecodeBase64("Zg="), "");
  EXPECT_EQ(DecodeBase64("!!!!"), "");
}

}  // namespace
}  // namespace podcache::control
