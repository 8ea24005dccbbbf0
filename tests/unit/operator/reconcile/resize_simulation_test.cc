// The resize decision against a model of kubelet and server, with every kind of interleaving: after
// each single step of anyone, the live limit must fit the actual memory limit, and in the end the
// wanted size must be reached.
#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "operator/reconcile/resize.h"

namespace podcache::control {
namespace {

constexpr std::uint64_t kMi = 1ULL << 20;

class World {
 public:
  explicit World(const SidecarTarget& start) : wanted(start) {
    spec = allocated = actual = start.amounts;
    live_target = live_limit = resident = start.cache_bytes;
    threads_target = threads_running = start.threads;
  }

  ResizeObservation Observe() const {
    ResizeObservation observed;
    observed.container.running = true;
    observed.container.spec = spec;
    observed.container.allocated = allocated;
    observed.container.actual = actual;
    observed.container.pending = pending;
    observed.container.in_progress = in_progress;
    if (reachable) {
      observed.server = ServerObservation{.target_bytes = live_target,
                                          .limit_bytes = live_limit,
                                          .resident_bytes = resident,
                                          .cgroup_limit_bytes = actual.memory_limit_bytes,
                                          .growth_bytes_per_second = 0,
                                          .threads_target = threads_target,
                                          .threads_running = threads_running};
    }
    if (refused && *refused == wanted.amounts) observed.refusal = "refused";
    return observed;
  }

  // One step of the operator. It remembers nothing but the refusal.
  ResizeStep Operate() {
    ResizeStep step = NextResizeStep(Observe(), wanted);
    if (step.action == ResizeAction::kPatchPod) {
      ++patches;
      if (refuse_patches) {
        refused = step.set_amounts;
      } else {
        spec = step.set_amounts;
        pending = PendingResize::kNone;
        in_progress = RunningResize::kNone;
      }
    }
    if (step.set_memory_bytes) {
      live_target = *step.set_memory_bytes;
      live_limit = std::max(live_limit, live_target);  // Growing takes effect at once.
    }
    if (step.set_threads) threads_target = *step.set_threads;
    return step;
  }

  // Grants what the node holds, then lowers limits, then raises them, one of it a step.
  void Kubelet() {
    if (spec != allocated) {
      if (spec.memory_limit_bytes > node_bytes) {
        pending = PendingResize::kInfeasible;
        return;
      }
      if (spec.memory_limit_bytes > free_bytes) {
        pending = PendingResize::kDeferred;
        return;
      }
      pending = PendingResize::kNone;
      allocated = spec;
      return;
    }
    pending = PendingResize::kNone;
    if (actual.memory_limit_bytes > allocated.memory_limit_bytes) {
      if (resident >= allocated.memory_limit_bytes) {
        in_progress = RunningResize::kError;
        return;
      }
      actual.memory_limit_bytes = allocated.memory_limit_bytes;
    } else if (actual.cpu_limit_milli != allocated.cpu_limit_milli) {
      actual.cpu_limit_milli = allocated.cpu_limit_milli;
    } else {
      actual = allocated;
    }
    in_progress = RunningResize::kNone;
  }

  // Evicts in pieces, gives memory back later still, moves one thread at a time.
  void Server() {
    if (live_limit > live_target) {
      live_limit = std::max(live_target, live_limit - std::min(live_limit, 48 * kMi));
    } else if (resident > live_limit) {
      resident = std::max(live_limit, resident - std::min(resident, 64 * kMi));
    } else if (resident < live_limit) {
      resident = std::min(live_limit, resident + 32 * kMi);  // The app keeps filling.
    }
    if (threads_running < threads_target) ++threads_running;
    if (threads_running > threads_target) --threads_running;
  }

  bool InvariantHolds() const {
    return sizing::InvariantHolds(wanted.rule, live_limit, actual.memory_limit_bytes);
  }
  bool Done() const {
    return spec == wanted.amounts && actual == wanted.amounts && live_limit == wanted.cache_bytes &&
           live_target == wanted.cache_bytes && threads_running == wanted.threads &&
           threads_target == wanted.threads && pending == PendingResize::kNone;
  }

  SidecarTarget wanted;
  ContainerAmounts spec, allocated, actual;
  std::uint64_t live_target, live_limit, resident;
  std::uint32_t threads_target, threads_running;
  PendingResize pending = PendingResize::kNone;
  RunningResize in_progress = RunningResize::kNone;
  std::uint64_t node_bytes = 4096 * kMi;
  std::uint64_t free_bytes = 4096 * kMi;
  bool reachable = true;
  bool refuse_patches = false;
  std::optional<ContainerAmounts> refused;
  int patches = 0;
};

// By the formula size × 1.25 + 128Mi; the sizes used are multiples of 4Mi, so that nothing is
// rounded.
SidecarTarget Target(std::uint64_t cache_mi, std::uint32_t threads, std::uint64_t cpu_milli) {
  SidecarTarget target;
  target.cache_bytes = cache_mi * kMi;
  target.threads = threads;
  const std::uint64_t limit = (cache_mi * 5 / 4 + 128) * kMi;
  target.amounts = {limit, limit, 50, cpu_milli};
  return target;
}

const std::vector<SidecarTarget>& Targets() {
  static const auto* const targets = new std::vector<SidecarTarget>{
      Target(64, 1, 1000), Target(256, 2, 2000), Target(96, 4, 4000), Target(1024, 1, 500)};
  return *targets;
}

enum class Turn : std::uint8_t { kOperator, kKubelet, kServer };

void Take(World& world, Turn turn) {
  switch (turn) {
    case Turn::kOperator:
      world.Operate();
      break;
    case Turn::kKubelet:
      world.Kubelet();
      break;
    case Turn::kServer:
      world.Server();
      break;
  }
}

bool Finish(World& world) {
  for (int i = 0; i < 400 && !world.Done(); ++i) {
    Take(world, static_cast<Turn>(i % 3));
    if (!world.InvariantHolds()) return false;
  }
  return world.Done();
}

// All orders of the first eight turns, from every target to every other, then a fair schedule to
// the end.
TEST(ResizeSimulationTest, EveryInterleavingKeepsTheInvariantAndEnds) {
  constexpr int kTurns = 8;
  int schedules = 1;
  for (int i = 0; i < kTurns; ++i) schedules *= 3;
  for (const SidecarTarget& from : Targets()) {
    for (const SidecarTarget& to : Targets()) {
      for (int schedule = 0; schedule < schedules; ++schedule) {
        World world(from);
        world.wanted = to;
        for (int i = 0, rest = schedule; i < kTurns; ++i, rest /= 3) {
          Take(world, static_cast<Turn>(rest % 3));
          ASSERT_TRUE(world.InvariantHolds()) << "schedule " << schedule << " turn " << i;
        }
        ASSERT_TRUE(Finish(world)) << "schedule " << schedule;
        ASSERT_LE(world.patches, 1) << "one PATCH brings all of it";
      }
    }
  }
}

// The wish changes, the server goes away and comes back, the node fills up and empties, PATCHes are
// refused for a while, at any moment. (The operator has no state of its own, so a restart is just
// the refusal forgotten.)
TEST(ResizeSimulationTest, ChangesAtAnyMomentKeepTheInvariantAndEnd) {
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](unsigned n) { return static_cast<unsigned>(random() % n); };
    World world(Targets()[below(4)]);
    for (int i = 0; i < 120; ++i) {
      switch (below(16)) {
        case 0:
          world.wanted = Targets()[below(4)];
          break;
        case 1:
          world.reachable = !world.reachable;
          break;
        case 2:
          world.free_bytes = (below(2) != 0 ? 4096 : 300) * kMi;
          break;
        case 3:
          world.node_bytes = (below(2) != 0 ? 4096 : 500) * kMi;
          break;
        case 4:
          world.refuse_patches = below(2) != 0;
          break;
        case 5:
          world.refused.reset();
          break;
        default:
          Take(world, static_cast<Turn>(below(3)));
      }
      ASSERT_TRUE(world.InvariantHolds()) << "seed " << seed << " step " << i;
    }
    world.reachable = true;
    world.free_bytes = world.node_bytes = 4096 * kMi;
    world.refuse_patches = false;
    world.refused.reset();
    ASSERT_TRUE(Finish(world)) << "seed " << seed;
    EXPECT_EQ(NextResizeStep(world.Observe(), world.wanted).state, ResizeState::kIdle);
  }
}

// K03 b, c: the live limit never moves, and there is one attempt.
TEST(ResizeSimulationTest, WhatTheNodeCannotHoldLeavesTheCacheAlone) {
  for (const bool at_admission : {false, true}) {
    World world(Target(1024, 1, 1000));
    world.refuse_patches = at_admission;
    world.wanted = Target(6144, 1, 1000);
    for (int i = 0; i < 300; ++i) {
      Take(world, static_cast<Turn>(i % 3));
      ASSERT_EQ(world.live_limit, 1024 * kMi);
      ASSERT_EQ(world.live_target, 1024 * kMi);
    }
    EXPECT_EQ(world.patches, 1);
    EXPECT_EQ(NextResizeStep(world.Observe(), world.wanted).state, ResizeState::kInfeasible);
  }
}

// The invariant asks for the actual limit, so a shrink may never be patched before the memory is
// back.
TEST(ResizeSimulationTest, ShrinkPatchesOnlyAfterRelease) {
  World world(Target(1024, 1, 1000));
  world.wanted = Target(64, 1, 1000);
  for (int i = 0; i < 300 && !world.Done(); ++i) {
    const int before = world.patches;
    Take(world, static_cast<Turn>(i % 3));
    if (world.patches > before) {
      EXPECT_EQ(world.live_limit, world.wanted.cache_bytes);
      EXPECT_LT(world.resident + 16 * kMi, world.wanted.amounts.memory_limit_bytes);
    }
  }
  EXPECT_TRUE(world.Done());
}

}  // namespace
}  // namespace podcache::control
