#include "operator/reconcile/resize.h"

#include <gtest/gtest.h>

namespace podcache::control {
namespace {

constexpr std::uint64_t kMi = 1ULL << 20;

// The documented formula with 25 % + 128Mi, rounded up to a Mi: 64Mi → 208Mi, 96Mi → 248Mi, 256Mi →
// 448Mi.
SidecarTarget Target(std::uint64_t cache_mi, std::uint64_t limit_mi, std::uint32_t threads,
                     std::uint64_t cpu_limit_milli = 0) {
  SidecarTarget target;
  target.cache_bytes = cache_mi * kMi;
  target.threads = threads;
  target.amounts = {limit_mi * kMi, limit_mi * kMi, 50, cpu_limit_milli};
  return target;
}

// A pod and a server that have what `target` asks for.
ResizeObservation SettledAt(const SidecarTarget& target) {
  ResizeObservation observed;
  observed.container.running = true;
  observed.container.spec = target.amounts;
  observed.container.allocated = target.amounts;
  observed.container.actual = target.amounts;
  ServerObservation server;
  server.target_bytes = target.cache_bytes;
  server.limit_bytes = target.cache_bytes;
  server.resident_bytes = target.cache_bytes + 8 * kMi;
  server.cgroup_limit_bytes = target.amounts.memory_limit_bytes;
  server.threads_target = target.threads;
  server.threads_running = target.threads;
  observed.server = server;
  return observed;
}

const SidecarTarget kSmall = Target(64, 208, 1);
const SidecarTarget kLarge = Target(256, 448, 1);

TEST(ResizeTest, SettledPodNeedsNothing) {
  const ResizeStep step = NextResizeStep(SettledAt(kSmall), kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kIdle);
}

TEST(ResizeTest, GrowPatchesThePodFirst) {
  const ResizeStep step = NextResizeStep(SettledAt(kSmall), kLarge);
  EXPECT_EQ(step.action, ResizeAction::kPatchPod);
  EXPECT_EQ(step.set_amounts, kLarge.amounts);
  EXPECT_EQ(step.state, ResizeState::kGrowing);
}

TEST(ResizeTest, GrowWaitsForTheActualLimit) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.spec = kLarge.amounts;
  observed.container.allocated = kLarge.amounts;
  const ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kGrowing);
}

TEST(ResizeTest, GrowRaisesTheServerLastAndWaitsForItsWord) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.spec = kLarge.amounts;
  observed.container.allocated = kLarge.amounts;
  observed.container.actual = kLarge.amounts;
  observed.server->cgroup_limit_bytes = kLarge.amounts.memory_limit_bytes;
  const ResizeStep raise = NextResizeStep(observed, kLarge);
  EXPECT_EQ(raise.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(raise.set_memory_bytes, kLarge.cache_bytes);
  EXPECT_FALSE(raise.set_threads);

  observed.server->target_bytes = kLarge.cache_bytes;
  const ResizeStep confirm = NextResizeStep(observed, kLarge);
  EXPECT_EQ(confirm.action, ResizeAction::kNone);
  EXPECT_EQ(confirm.state, ResizeState::kGrowing);

  observed.server->limit_bytes = kLarge.cache_bytes;
  EXPECT_EQ(NextResizeStep(observed, kLarge).state, ResizeState::kIdle);
}

// The kubelet's report may run ahead of what the server sees of its own cgroup.
TEST(ResizeTest, GrowDoesNotTrustTheStatusAgainstTheServersOwnCgroup) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.spec = kLarge.amounts;
  observed.container.allocated = kLarge.amounts;
  observed.container.actual = kLarge.amounts;
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kNone);
}

TEST(ResizeTest, ShrinkLowersTheServerFirst) {
  const ResizeStep step = NextResizeStep(SettledAt(kLarge), kSmall);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_memory_bytes, kSmall.cache_bytes);
  EXPECT_EQ(step.state, ResizeState::kShrinking);
}

TEST(ResizeTest, ShrinkWaitsForEvictionThenForReleaseThenPatches) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.server->target_bytes = kSmall.cache_bytes;
  ResizeStep step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kShrinking);

  observed.server->limit_bytes = kSmall.cache_bytes;
  observed.server->resident_bytes = kSmall.amounts.memory_limit_bytes - 16 * kMi;
  step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kWaitingForRelease);

  observed.server->resident_bytes -= 1;
  step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kPatchPod);
  EXPECT_EQ(step.set_amounts, kSmall.amounts);
}

TEST(ResizeTest, HeadroomCoversASecondOfTheFastestGrowth) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.server->target_bytes = observed.server->limit_bytes = kSmall.cache_bytes;
  observed.server->resident_bytes = 100 * kMi;
  observed.server->growth_bytes_per_second = 108 * kMi;
  EXPECT_EQ(NextResizeStep(observed, kSmall).state, ResizeState::kWaitingForRelease);
  observed.server->growth_bytes_per_second = 107 * kMi;
  EXPECT_EQ(NextResizeStep(observed, kSmall).action, ResizeAction::kPatchPod);
}

TEST(ResizeTest, ShrinkWithoutAnAnswerPatchesNothing) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.server.reset();
  observed.server_error = "connection refused";
  const ResizeStep step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kUnreachable);
  EXPECT_EQ(step.message, "connection refused");
}

TEST(ResizeTest, GrowWithoutAnAnswerPatchesAndRaisesLater) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.server.reset();
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kPatchPod);
}

// K03 a.
TEST(ResizeTest, DeferredKeepsTheLiveLimitAndIsEvictedOnlyWhenAllowed) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.spec = kLarge.amounts;
  observed.container.pending = PendingResize::kDeferred;
  observed.container.pending_message = "Node didn't have enough resource: memory";
  observed.container.pending_for = std::chrono::seconds(3000);
  ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kDeferred);
  EXPECT_EQ(step.message, observed.container.pending_message);

  observed.recreate_allowed = true;
  observed.container.pending_for = observed.deferred_timeout - std::chrono::seconds(1);
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kNone);
  observed.container.pending_for = observed.deferred_timeout;
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kEvictPod);
}

// kubernetes.md 4: resized at once; if it still ends afterwards, recreated, where that is allowed.
TEST(ResizeTest, ContainerThatKeepsEndingIsResizedAndThenRecreated) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.server.reset();
  observed.container.running = false;
  observed.container.keeps_ending = true;
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kPatchPod);

  observed.container.spec = kLarge.amounts;
  observed.container.allocated = kLarge.amounts;
  observed.container.actual = kLarge.amounts;
  observed.recreate_allowed = true;
  // Nothing of ours changed it: it may have been ending for long.
  ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kError);
  EXPECT_NE(step.message.find("CrashLoopBackOff"), std::string::npos);

  observed.container.changed_while_ending_for = observed.deferred_timeout - std::chrono::seconds(1);
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kNone);
  observed.container.changed_while_ending_for = observed.deferred_timeout;
  step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kEvictPod);
  EXPECT_EQ(step.state, ResizeState::kError);
  observed.recreate_allowed = false;
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kNone);
}

// K03 b.
TEST(ResizeTest, InfeasibleByConditionTouchesNothing) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.spec = kLarge.amounts;
  observed.container.pending = PendingResize::kInfeasible;
  observed.recreate_allowed = true;
  const ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kInfeasible);
}

// K03 c, e.
TEST(ResizeTest, RefusedValueIsNotTriedAgain) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.refusal = "exceeded quota: mem";
  const ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kInfeasible);
  EXPECT_EQ(step.message, "exceeded quota: mem");
}

// K03 d.
TEST(ResizeTest, WithoutTheSubresourceOnlyRecreationHelps) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.resize_supported = false;
  ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kRestartRequired);
  EXPECT_NE(step.message.find("1.33"), std::string::npos);
  observed.recreate_allowed = true;
  EXPECT_EQ(NextResizeStep(observed, kLarge).action, ResizeAction::kEvictPod);
}

// K02 on 1.33: the cache comes down, the limit stays.
TEST(ResizeTest, WithoutDecreaseTheCacheStaysLow) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.decrease_supported = false;
  EXPECT_EQ(NextResizeStep(observed, kSmall).set_memory_bytes, kSmall.cache_bytes);
  observed.server->target_bytes = observed.server->limit_bytes = kSmall.cache_bytes;
  const ResizeStep step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kRestartRequired);
  EXPECT_NE(step.message.find("1.34"), std::string::npos);
}

// K02: usage above the new limit when the kubelet looks.
TEST(ResizeTest, KubeletErrorKeepsTheCacheLow) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.container.spec = observed.container.allocated.emplace(kSmall.amounts);
  observed.container.in_progress = RunningResize::kError;
  observed.container.in_progress_message = "memory usage above the new limit";
  observed.server->target_bytes = observed.server->limit_bytes = kSmall.cache_bytes;
  observed.recreate_allowed = true;
  const ResizeStep step = NextResizeStep(observed, kSmall);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kError);
}

TEST(ResizeTest, MoreCpuComesBeforeMoreThreads) {
  const SidecarTarget one = Target(64, 208, 1, 1000);
  const SidecarTarget two = Target(64, 208, 2, 2000);
  ResizeObservation observed = SettledAt(one);
  EXPECT_EQ(NextResizeStep(observed, two).action, ResizeAction::kPatchPod);
  observed.container.spec = two.amounts;
  EXPECT_EQ(NextResizeStep(observed, two).action, ResizeAction::kNone);
  observed.container.actual = two.amounts;
  const ResizeStep step = NextResizeStep(observed, two);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_threads, 2U);
  EXPECT_FALSE(step.set_memory_bytes);
}

TEST(ResizeTest, FewerThreadsComeBeforeLessCpu) {
  const SidecarTarget one = Target(64, 208, 1, 1000);
  const SidecarTarget two = Target(64, 208, 2, 2000);
  ResizeObservation observed = SettledAt(two);
  ResizeStep step = NextResizeStep(observed, one);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_threads, 1U);
  observed.server->threads_target = 1;
  EXPECT_EQ(NextResizeStep(observed, one).action, ResizeAction::kNone);
  observed.server->threads_running = 1;
  EXPECT_EQ(NextResizeStep(observed, one).action, ResizeAction::kPatchPod);
}

// Memory falls, CPU rises: lower live, one PATCH, raise live.
TEST(ResizeTest, MixedChangeIsOnePatch) {
  const SidecarTarget from = Target(256, 448, 1, 1000);
  const SidecarTarget to = Target(64, 208, 2, 2000);
  ResizeObservation observed = SettledAt(from);
  ResizeStep step = NextResizeStep(observed, to);
  EXPECT_EQ(step.set_memory_bytes, to.cache_bytes);
  EXPECT_FALSE(step.set_threads);
  observed.server->target_bytes = observed.server->limit_bytes = to.cache_bytes;
  observed.server->resident_bytes = 80 * kMi;
  step = NextResizeStep(observed, to);
  EXPECT_EQ(step.action, ResizeAction::kPatchPod);
  EXPECT_EQ(step.set_amounts, to.amounts);
  observed.container.spec = observed.container.allocated.emplace(to.amounts);
  observed.container.actual = to.amounts;
  step = NextResizeStep(observed, to);
  EXPECT_EQ(step.set_threads, 2U);
}

TEST(ResizeTest, ThreadsOfFixedNumberFollowAlthoughTheMemoryIsRefused) {
  SidecarTarget target = kLarge;
  target.threads = 2;
  ResizeObservation observed = SettledAt(kSmall);
  observed.refusal = "exceeded quota";
  const ResizeStep step = NextResizeStep(observed, target);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_threads, 2U);
  EXPECT_FALSE(step.set_memory_bytes);
  EXPECT_EQ(step.state, ResizeState::kInfeasible);
}

// A container that was restarted has its size of birth and is brought back to what is wanted.
TEST(ResizeTest, RestartedServerIsRaisedWithoutAPatch) {
  ResizeObservation observed = SettledAt(kLarge);
  observed.server->target_bytes = observed.server->limit_bytes = kSmall.cache_bytes;
  const ResizeStep step = NextResizeStep(observed, kLarge);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_memory_bytes, kLarge.cache_bytes);
}

// Somebody lowered the limit: the target follows the actual value, the pod is left alone.
TEST(ResizeTest, ForeignChangeIsFollowedWithoutAPatch) {
  SidecarTarget target = kLarge;
  target.cache_bytes = 64 * kMi;
  ResizeObservation observed = SettledAt(kLarge);
  observed.foreign_change = true;
  observed.container.spec = observed.container.allocated.emplace(kSmall.amounts);
  observed.container.actual = kSmall.amounts;
  observed.server->cgroup_limit_bytes = kSmall.amounts.memory_limit_bytes;
  ResizeStep step = NextResizeStep(observed, target);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_memory_bytes, 64 * kMi);
  EXPECT_EQ(step.state, ResizeState::kForeignChange);
  observed.server->target_bytes = observed.server->limit_bytes = 64 * kMi;
  step = NextResizeStep(observed, target);
  EXPECT_EQ(step.action, ResizeAction::kNone);
  EXPECT_EQ(step.state, ResizeState::kForeignChange);
}

// A profile asks for more overhead than before: first try to grow the pod, and only where that is
// refused lower the cache.
TEST(ResizeTest, NewRuleLowersTheCacheOnlyWhenThePodCannotGrow) {
  SidecarTarget target = Target(64, 256, 1);
  target.rule = {.overhead_percent = 100, .overhead_fixed_bytes = 128 * kMi};
  ResizeObservation observed = SettledAt(kSmall);
  EXPECT_EQ(NextResizeStep(observed, target).action, ResizeAction::kPatchPod);
  observed.refusal = "exceeded quota";
  const ResizeStep step = NextResizeStep(observed, target);
  EXPECT_EQ(step.action, ResizeAction::kUpdateServer);
  EXPECT_EQ(step.set_memory_bytes, 40 * kMi);  // (208 - 128) / 2
}

TEST(ResizeTest, LimitOnceSetIsNotTakenAway) {
  ResizeObservation observed = SettledAt(Target(64, 208, 1, 1000));
  EXPECT_EQ(NextResizeStep(observed, Target(64, 208, 1)).state, ResizeState::kIdle);
}

TEST(ResizeTest, StartingContainerIsWaitedFor) {
  ResizeObservation observed = SettledAt(kSmall);
  observed.container.running = false;
  observed.container.actual.reset();
  observed.server.reset();
  EXPECT_EQ(NextResizeStep(observed, kSmall).state, ResizeState::kStarting);
}

}  // namespace
}  // namespace podcache::control
