#include "operator/reconcile/sidecar_status.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "operator/reconcile/sidecar_events.h"

namespace podcache::control {
namespace {

using ::testing::HasSubstr;

constexpr const char* kNow = "2026-11-30T10:00:00Z";

PodOutcome Pod(const std::string& name, ResizeState state, const std::string& message = "") {
  PodOutcome pod;
  pod.name = name;
  pod.state = state;
  pod.message = message;
  pod.running = state != ResizeState::kStarting;
  return pod;
}

class SidecarStatusTest : public ::testing::Test {
 protected:
  SidecarStatusTest() { sidecar_.metadata.generation = 4; }

  CacheSidecarStatus Build(const std::vector<PodOutcome>& pods) {
    facts_.pods = pods;
    facts_.matched_pods = static_cast<std::int32_t>(pods.size() + facts_.not_injected.size());
    facts_.injected_pods = static_cast<std::int32_t>(pods.size());
    return BuildStatus(sidecar_, facts_, kNow);
  }
  static std::string Show(const CacheSidecarStatus& status, std::string_view type) {
    const Condition* condition = FindCondition(status.conditions, type);
    return condition == nullptr
               ? ""
               : std::string(ToString(condition->status)) + "/" + condition->reason;
  }
  static std::string MessageOfCondition(const CacheSidecarStatus& status, std::string_view type) {
    return FindCondition(status.conditions, type)->message;
  }

  CacheSidecar sidecar_;
  SidecarFacts facts_;
};

TEST_F(SidecarStatusTest, AllConditionsAreSetAtTheFirstVisit) {
  const CacheSidecarStatus status = Build({});
  EXPECT_EQ(status.observed_generation, 4);
  ASSERT_EQ(status.conditions.size(), 5U);
  for (const Condition& condition : status.conditions) EXPECT_EQ(condition.observed_generation, 4);
  EXPECT_EQ(Show(status, condition::kReady), "True/AllPodsSized");
  EXPECT_EQ(Show(status, condition::kInjectionReady), "True/Serving");
  EXPECT_EQ(Show(status, condition::kResizing), "False/Idle");
  EXPECT_EQ(Show(status, condition::kLiveConfigApplied), "True/Applied");
  EXPECT_EQ(Show(status, condition::kSized), "True/ProfileMatched");
}

TEST_F(SidecarStatusTest, CountsAndListsOnlyPodsNotAtTheirSize) {
  facts_.not_injected = {"late"};
  const CacheSidecarStatus status =
      Build({Pod("b", ResizeState::kDeferred, "no room"), Pod("a", ResizeState::kGrowing),
             Pod("c", ResizeState::kIdle)});
  EXPECT_EQ(status.matched_pods, 4);
  EXPECT_EQ(status.injected_pods, 3);
  EXPECT_EQ(status.resized_pods, 1);
  EXPECT_EQ(status.pending_pods, 2);
  ASSERT_EQ(status.pods.size(), 2U);
  EXPECT_EQ(status.pods[0].name, "a");
  EXPECT_EQ(status.pods[1].state, "Deferred");
  EXPECT_EQ(status.pods[1].message, "no room");
}

TEST_F(SidecarStatusTest, AtMost32PodsAreListed) {
  std::vector<PodOutcome> pods;
  for (int i = 0; i < 100; ++i) pods.push_back(Pod("p" + std::to_string(i), ResizeState::kGrowing));
  const CacheSidecarStatus status = Build(pods);
  EXPECT_EQ(status.pods.size(), 32U);
  EXPECT_EQ(status.pending_pods, 100);
  EXPECT_THAT(MessageOfCondition(status, condition::kResizing), HasSubstr("100 pods"));
}

TEST_F(SidecarStatusTest, ReasonsOfResizing) {
  const std::vector<std::pair<ResizeState, std::string>> cases = {
      {ResizeState::kGrowing, "True/Growing"},
      {ResizeState::kShrinking, "True/Shrinking"},
      {ResizeState::kWaitingForRelease, "True/WaitingForRelease"},
      {ResizeState::kDeferred, "True/Deferred"},
      {ResizeState::kInfeasible, "False/Infeasible"},
      {ResizeState::kError, "False/ResizeError"},
      {ResizeState::kForeignChange, "Unknown/VPAConflict"},
      {ResizeState::kIdle, "False/Idle"},
      {ResizeState::kStarting, "False/Idle"},
      {ResizeState::kUnreachable, "False/Idle"}};
  for (const auto& [state, shown] : cases) {
    EXPECT_EQ(Show(Build({Pod("p", ResizeState::kIdle), Pod("q", state)}), condition::kResizing),
              shown);
    EXPECT_EQ(StateFromName(StateName(state)), state);
  }
  EXPECT_EQ(Show(Build({Pod("p", ResizeState::kInfeasible), Pod("q", ResizeState::kGrowing)}),
                 condition::kResizing),
            "True/Growing")
      << "what moves comes first";
}

TEST_F(SidecarStatusTest, ReadySumsUp) {
  EXPECT_EQ(Show(Build({Pod("p", ResizeState::kGrowing)}), condition::kReady), "False/Progressing");
  EXPECT_EQ(Show(Build({Pod("p", ResizeState::kStarting)}), condition::kReady),
            "False/Progressing");
  EXPECT_EQ(Show(Build({Pod("p", ResizeState::kInfeasible)}), condition::kReady), "False/Degraded");
  PodOutcome silent = Pod("p", ResizeState::kUnreachable, "connection refused");
  silent.apply_failed = true;
  const CacheSidecarStatus status = Build({silent});
  EXPECT_EQ(Show(status, condition::kReady), "False/Degraded");
  EXPECT_EQ(Show(status, condition::kLiveConfigApplied), "False/ApplyFailed");
  EXPECT_THAT(MessageOfCondition(status, condition::kReady), HasSubstr("connection refused"));
  facts_.invalid = "spec.x: wrong";
  EXPECT_EQ(Show(Build({}), condition::kReady), "False/InvalidSpec");
}

TEST_F(SidecarStatusTest, InjectionReady) {
  facts_.not_injected = {"a", "b"};
  CacheSidecarStatus status = Build({});
  EXPECT_EQ(Show(status, condition::kInjectionReady), "False/PodsNotInjected");
  EXPECT_THAT(MessageOfCondition(status, condition::kInjectionReady),
              HasSubstr("2 matched pods have no cache (a, b)"));
  facts_.webhook_ready = false;
  EXPECT_EQ(Show(Build({}), condition::kInjectionReady), "False/CertificateNotReady");
  facts_.native_sidecars = false;
  EXPECT_EQ(Show(Build({}), condition::kInjectionReady), "False/NativeSidecarsUnavailable");
}

TEST_F(SidecarStatusTest, SizedAndRestartRequired) {
  PodOutcome pod = Pod("p", ResizeState::kIdle);
  pod.sized = Sized::kLimitTooSmall;
  pod.sized_message = "100Mi holds 40Mi";
  EXPECT_EQ(Show(Build({pod}), condition::kSized), "False/LimitTooSmall");
  pod.sized = Sized::kNoMatch;
  EXPECT_EQ(Show(Build({pod}), condition::kSized), "False/NoProfileMatch");
  pod.sized = Sized::kArchUnknown;
  EXPECT_EQ(Show(Build({pod}), condition::kSized), "Unknown/ArchUnknown");
  pod.sized = Sized::kMatched;
  pod.restart_required = true;
  EXPECT_EQ(Show(Build({pod}), condition::kLiveConfigApplied), "False/RestartRequired");
}

// The same facts a minute later give the same status: nothing to write.
TEST_F(SidecarStatusTest, UnchangedFactsGiveAnUnchangedStatus) {
  sidecar_.status = Build({Pod("p", ResizeState::kDeferred, "no room")});
  const CacheSidecarStatus again = BuildStatus(sidecar_, facts_, "2026-11-30T10:01:00Z");
  EXPECT_EQ(again, sidecar_.status);
  facts_.pods = {Pod("p", ResizeState::kIdle)};
  const CacheSidecarStatus changed = BuildStatus(sidecar_, facts_, "2026-11-30T10:02:00Z");
  EXPECT_EQ(FindCondition(changed.conditions, condition::kResizing)->last_transition_time,
            "2026-11-30T10:02:00Z");
  EXPECT_EQ(FindCondition(changed.conditions, condition::kSized)->last_transition_time, kNow);
}

TEST(SidecarEventsTest, OneEventForEachTransition) {
  const auto reason = [](ResizeState before, ResizeState after) {
    const auto event = EventFor(before, Pod("p", after, "why"));
    return event ? std::string(event->reason) + (event->warning ? "!" : "") : std::string("-");
  };
  EXPECT_EQ(reason(ResizeState::kGrowing, ResizeState::kIdle), "Resized");
  EXPECT_EQ(reason(ResizeState::kWaitingForRelease, ResizeState::kIdle), "Resized");
  EXPECT_EQ(reason(ResizeState::kDeferred, ResizeState::kIdle), "Resized");
  EXPECT_EQ(reason(ResizeState::kStarting, ResizeState::kIdle), "-");
  EXPECT_EQ(reason(ResizeState::kUnreachable, ResizeState::kIdle), "-");
  EXPECT_EQ(reason(ResizeState::kIdle, ResizeState::kIdle), "-");
  EXPECT_EQ(reason(ResizeState::kGrowing, ResizeState::kDeferred), "ResizeDeferred!");
  EXPECT_EQ(reason(ResizeState::kDeferred, ResizeState::kDeferred), "-");
  EXPECT_EQ(reason(ResizeState::kGrowing, ResizeState::kInfeasible), "ResizeInfeasible!");
  EXPECT_EQ(reason(ResizeState::kShrinking, ResizeState::kError), "ResizeFailed!");
  EXPECT_EQ(reason(ResizeState::kIdle, ResizeState::kForeignChange), "VPAConflict!");
  EXPECT_EQ(reason(ResizeState::kIdle, ResizeState::kGrowing), "-");
}

}  // namespace
}  // namespace podcache::control
