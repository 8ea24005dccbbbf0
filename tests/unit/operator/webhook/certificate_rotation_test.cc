#include "operator/webhook/certificate_rotation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <thread>
#include <vector>

#include "operator/webhook/base64.h"
#include "tests/unit/operator/support/fake_api.h"

namespace podcache::control {
namespace {

using nlohmann::json;

const kube::ObjectRef kSecret{kube::kSecrets, "podcache-system", "podcache-certs", ""};
const kube::ObjectRef kConfiguration{kube::kMutatingWebhookConfigurations, "", "podcache-injector",
                                     ""};

// One replica of the operator.
struct Replica {
  Replica(testing::FakeApi& api, const Clock& clock, bool is_leader)
      : leader(is_leader),
        rotation(
            api,
            {.secret = {"podcache-system", "podcache-certs"},
             .webhook_configuration = "podcache-injector",
             .rotation = {.dns_names = {"podcache-webhook.podcache-system.svc"},
                          .ip_addresses = {}}},
            [this] { return leader; }, [this](const CertificateSet& set) { used.push_back(set); },
            clock, Logger::Null()) {}
  bool leader;
  std::vector<CertificateSet> used;
  CertificateRotation rotation;
};

class CertificateRotationTest : public ::testing::Test {
 protected:
  CertificateRotationTest() {
    api_.Put(kConfiguration,
             {{"webhooks",
               json::array({{{"name", "inject.podcache.dev"}, {"clientConfig", json::object()}},
                            {{"name", "inject-required.podcache.dev"},
                             {"clientConfig", json::object()}}})}});
  }
  std::string PublishedBundle(int webhook) {
    const json found = *api_.Find(kConfiguration);
    return DecodeBase64(found["webhooks"][webhook]["clientConfig"].value("caBundle", ""));
  }

  ManualClock clock_;
  testing::FakeApi api_;
};

TEST_F(CertificateRotationTest, LeaderMakesPublishesAndUses) {
  Replica replica(api_, clock_, true);
  ASSERT_TRUE(replica.rotation.Visit().ok());
  ASSERT_EQ(replica.used.size(), 1U);
  EXPECT_TRUE(replica.rotation.ready());
  EXPECT_TRUE(replica.rotation.published());
  for (const int webhook : {0, 1}) {
    EXPECT_EQ(PublishedBundle(webhook), replica.used[0].webhook_bundle_pem);
  }
  const json secret = *api_.Find(kSecret);
  EXPECT_EQ(DecodeBase64(secret["data"]["webhook.crt"].get<std::string>()),
            replica.used[0].webhook_leaf.certificate_pem);
  api_.TakeWrites();
  ASSERT_TRUE(replica.rotation.Visit().ok());
  EXPECT_TRUE(api_.TakeWrites().empty()) << "nothing to do, nothing written";
  EXPECT_EQ(replica.used.size(), 1U);
}

TEST_F(CertificateRotationTest, StandbyWaitsThenUsesWhatTheLeaderMade) {
  Replica leader(api_, clock_, true);
  Replica standby(api_, clock_, false);
  EXPECT_TRUE(absl::IsNotFound(standby.rotation.Visit()));
  EXPECT_FALSE(standby.rotation.ready());
  EXPECT_TRUE(api_.TakeWrites().empty());
  ASSERT_TRUE(leader.rotation.Visit().ok());
  api_.TakeWrites();
  ASSERT_TRUE(standby.rotation.Visit().ok());
  EXPECT_EQ(standby.used.at(0).webhook_leaf.certificate_pem,
            leader.used.at(0).webhook_leaf.certificate_pem);
  EXPECT_TRUE(api_.TakeWrites().empty());
}

// The chart makes the Secret empty, so that the operator needs no right to create any.
TEST_F(CertificateRotationTest, StandbyUsesNothingOfAnEmptySecret) {
  api_.Put(kSecret, {{"metadata", {{"name", kSecret.name}, {"namespace", kSecret.ns}}}});
  Replica standby(api_, clock_, false);
  EXPECT_TRUE(absl::IsNotFound(standby.rotation.Visit()));
  EXPECT_FALSE(standby.rotation.ready());
  EXPECT_TRUE(standby.used.empty());
}

TEST_F(CertificateRotationTest, ReplicasRacingOnTheFirstCreationEndWithOneSecret) {
  std::vector<std::unique_ptr<Replica>> replicas;
  for (int i = 0; i < 4; ++i) replicas.push_back(std::make_unique<Replica>(api_, clock_, true));
  std::vector<std::thread> threads;
  for (const auto& replica : replicas) {
    threads.emplace_back([&replica] {
      while (!replica->rotation.Visit().ok()) {
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const auto& replica : replicas) {
    ASSERT_TRUE(replica->rotation.Visit().ok());
    EXPECT_EQ(replica->used.back().identity_key, replicas[0]->used.back().identity_key);
    EXPECT_EQ(replica->used.size(), 1U) << "nobody used certificates that were not kept";
  }
}

TEST_F(CertificateRotationTest, LoserOfTheRaceUsesTheWinnersSecret) {
  Replica winner(api_, clock_, true);
  Replica loser(api_, clock_, true);
  api_.before_write = [&] {
    api_.before_write = nullptr;
    ASSERT_TRUE(winner.rotation.Visit().ok());
  };
  EXPECT_TRUE(absl::IsAlreadyExists(loser.rotation.Visit()));
  EXPECT_TRUE(loser.used.empty());
  ASSERT_TRUE(loser.rotation.Visit().ok());
  EXPECT_EQ(loser.used.at(0).identity_key, winner.used.at(0).identity_key);
}

TEST_F(CertificateRotationTest, LeafIsRenewedWithoutRestart) {
  Replica replica(api_, clock_, true);
  ASSERT_TRUE(replica.rotation.Visit().ok());
  clock_.Advance(std::chrono::hours(24 * 61));
  ASSERT_TRUE(replica.rotation.Visit().ok());
  ASSERT_EQ(replica.used.size(), 2U);
  EXPECT_NE(replica.used[0].webhook_leaf.certificate_pem,
            replica.used[1].webhook_leaf.certificate_pem);
  EXPECT_EQ(replica.used[0].webhook_bundle_pem, replica.used[1].webhook_bundle_pem);
}

// At every moment both the leader's and a slow standby's leaf are trusted by what is published.
TEST_F(CertificateRotationTest, ChangeOfCaNeverServesAnUntrustedLeaf) {
  Replica leader(api_, clock_, true);
  Replica standby(api_, clock_, false);
  ASSERT_TRUE(leader.rotation.Visit().ok());
  ASSERT_TRUE(standby.rotation.Visit().ok());
  const std::string first_ca = leader.used[0].webhook_ca.certificate_pem;
  for (int day = 0; day < 500; day += 4) {
    clock_.Advance(std::chrono::hours(4 * 24));
    ASSERT_TRUE(leader.rotation.Visit().ok());
    ASSERT_TRUE(tls::SignedBy(leader.used.back().webhook_leaf.certificate_pem, PublishedBundle(0)));
    ASSERT_TRUE(
        tls::SignedBy(standby.used.back().webhook_leaf.certificate_pem, PublishedBundle(0)));
    if (day % 20 == 0) {
      ASSERT_TRUE(standby.rotation.Visit().ok());
    }
  }
  EXPECT_NE(leader.used.back().webhook_ca.certificate_pem, first_ca);
}

TEST_F(CertificateRotationTest, ABundleThatSomebodyRemovedIsPutBack) {
  Replica replica(api_, clock_, true);
  ASSERT_TRUE(replica.rotation.Visit().ok());
  json configuration = *api_.Find(kConfiguration);
  configuration["webhooks"][1]["clientConfig"].erase("caBundle");
  api_.Put(kConfiguration, configuration);
  ASSERT_TRUE(replica.rotation.Visit().ok());
  EXPECT_EQ(PublishedBundle(1), replica.used[0].webhook_bundle_pem);
}

TEST_F(CertificateRotationTest, WithoutAWebhookConfigurationTheRestWorks) {
  testing::FakeApi api;
  Replica replica(api, clock_, true);
  ASSERT_TRUE(replica.rotation.Visit().ok());
  EXPECT_TRUE(replica.rotation.ready());
  EXPECT_FALSE(replica.rotation.published());
}

}  // namespace
}  // namespace podcache::control
