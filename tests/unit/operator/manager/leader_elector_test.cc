#include "operator/manager/leader_elector.h"

#include <gtest/gtest.h>

#include <memory>
#include <thread>

#include "tests/unit/operator/manager/lease_api.h"

namespace podcache::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

class LeaderElectorTest : public testing::Test {
 protected:
  std::unique_ptr<LeaderElector> Elector(const std::string& identity) {
    return std::make_unique<LeaderElector>(
        api_, LeaderElectorOptions{.lease = {"podcache", "operator"}, .identity = identity}, clock_,
        1, Logger::Null());
  }

  // 2023-11-14T22:13:20Z
  ManualClock clock_{seconds(1'700'000'000)};
  LeaseApi api_;
};

TEST_F(LeaderElectorTest, TheFirstCreatesTheLease) {
  const auto a = Elector("a");
  EXPECT_FALSE(a->is_leader());
  EXPECT_EQ(a->Step(), Leadership::kLeading);
  EXPECT_TRUE(a->is_leader());
  EXPECT_EQ(api_.lease->json()["spec"],
            nlohmann::json::parse(R"({"holderIdentity":"a","leaseDurationSeconds":15,
              "acquireTime":"2023-11-14T22:13:20.000000Z","renewTime":"2023-11-14T22:13:20.000000Z",
              "leaseTransitions":0})"));
}

TEST_F(LeaderElectorTest, RenewalMovesOnlyTheRenewTime) {
  const auto a = Elector("a");
  a->Step();
  clock_.Advance(milliseconds(2500));
  EXPECT_EQ(a->Step(), Leadership::kLeading);
  EXPECT_EQ(api_.lease->TextAt({"spec", "acquireTime"}), "2023-11-14T22:13:20.000000Z");
  EXPECT_EQ(api_.lease->TextAt({"spec", "renewTime"}), "2023-11-14T22:13:22.500000Z");
  EXPECT_EQ(api_.lease->json()["spec"]["leaseTransitions"], 0);
}

TEST_F(LeaderElectorTest, ASecondStandsByUntilTheLeaseRunsOut) {
  const auto a = Elector("a");
  const auto b = Elector("b");
  a->Step();
  EXPECT_EQ(b->Step(), Leadership::kStandby);
  for (int i = 0; i < 10; ++i) {  // Renewed every 2 s, it never runs out.
    clock_.Advance(seconds(2));
    EXPECT_EQ(a->Step(), Leadership::kLeading);
    EXPECT_EQ(b->Step(), Leadership::kStandby);
  }
  clock_.Advance(seconds(15) - std::chrono::nanoseconds(1));
  EXPECT_EQ(b->Step(), Leadership::kStandby);
  clock_.Advance(std::chrono::nanoseconds(1));
  EXPECT_EQ(b->Step(), Leadership::kLeading);
  EXPECT_EQ(api_.lease->json()["spec"]["leaseTransitions"], 1);
  EXPECT_EQ(a->Step(), Leadership::kLost);  // Its renew deadline is long over.
  EXPECT_EQ(api_.holder(), "b");
}

TEST_F(LeaderElectorTest, ExpiryCountsFromWhatThisProcessSaw) {
  // The holder's clock is an hour ahead or behind: no matter.
  const auto a = Elector("a");
  a->Step();
  api_.lease->mutable_json()["spec"]["renewTime"] = "2001-01-01T00:00:00.000000Z";
  const auto b = Elector("b");
  EXPECT_EQ(b->Step(), Leadership::kStandby);
  clock_.Advance(seconds(15));
  EXPECT_EQ(b->Step(), Leadership::kLeading);
}

TEST_F(LeaderElectorTest, AFailedRenewalIsToleratedUntilTheDeadline) {
  const auto a = Elector("a");
  a->Step();
  api_.failure = absl::UnavailableError("down");
  for (int i = 0; i < 4; ++i) {
    clock_.Advance(seconds(2));
    EXPECT_EQ(a->Step(), Leadership::kLeading);
  }
  clock_.Advance(seconds(2));
  EXPECT_EQ(a->Step(), Leadership::kLost);
  EXPECT_FALSE(a->is_leader());
  api_.failure = absl::OkStatus();
  EXPECT_EQ(a->Step(), Leadership::kLost);  // Final.
}

TEST_F(LeaderElectorTest, ARenewalInTimeForgetsTheTrouble) {
  const auto a = Elector("a");
  a->Step();
  api_.failure = absl::UnavailableError("down");
  clock_.Advance(seconds(8));
  EXPECT_EQ(a->Step(), Leadership::kLeading);
  api_.failure = absl::OkStatus();
  clock_.Advance(seconds(1));
  EXPECT_EQ(a->Step(), Leadership::kLeading);
  clock_.Advance(seconds(9));
  api_.failure = absl::UnavailableError("down");
  EXPECT_EQ(a->Step(), Leadership::kLeading);
}

TEST_F(LeaderElectorTest, ALeaseTakenByAnotherIsLostAtOnce) {
  const auto a = Elector("a");
  a->Step();
  api_.lease->mutable_json()["spec"]["holderIdentity"] = "b";
  clock_.Advance(seconds(2));
  EXPECT_EQ(a->Step(), Leadership::kLost);
}

TEST_F(LeaderElectorTest, ALeaseDeletedUnderTheLeaderIsMadeAgain) {
  const auto a = Elector("a");
  a->Step();
  api_.lease.reset();
  clock_.Advance(seconds(2));
  EXPECT_EQ(a->Step(), Leadership::kLeading);
  EXPECT_EQ(api_.holder(), "a");
}

TEST_F(LeaderElectorTest, ReleaseLetsTheNextInAtOnce) {
  const auto a = Elector("a");
  const auto b = Elector("b");
  a->Step();
  EXPECT_EQ(b->Step(), Leadership::kStandby);
  a->Release();
  EXPECT_FALSE(a->is_leader());
  EXPECT_EQ(api_.holder(), "");
  EXPECT_EQ(b->Step(), Leadership::kLeading);
  EXPECT_EQ(a->Step(), Leadership::kLost);
}

TEST_F(LeaderElectorTest, ReleaseOfAStandbyTouchesNothing) {
  const auto a = Elector("a");
  const auto b = Elector("b");
  a->Step();
  b->Step();
  b->Release();
  EXPECT_EQ(api_.holder(), "a");
}

TEST_F(LeaderElectorTest, Delays) {
  const auto a = Elector("a");
  const auto standby = a->NextDelay();
  EXPECT_GE(standby, seconds(2));
  EXPECT_LE(standby, seconds(3));
  a->Step();
  EXPECT_EQ(a->NextDelay(), seconds(2));
  clock_.Advance(seconds(9));
  EXPECT_EQ(a->NextDelay(), seconds(1));  // Not beyond the deadline.
  clock_.Advance(seconds(9));
  EXPECT_EQ(a->NextDelay(), seconds(0));
}

TEST_F(LeaderElectorTest, AStopEndsTheWaits) {
  const auto a = Elector("a");
  const auto b = Elector("b");
  std::stop_source stop;
  EXPECT_TRUE(a->Acquire(stop.get_token()));
  std::jthread stopper([&] { stop.request_stop(); });
  EXPECT_TRUE(a->Hold(stop.get_token()));
  EXPECT_FALSE(b->Acquire(stop.get_token()));
}

}  // namespace
}  // namespace podcache::kube
