#include "operator/reconcile/resize.h"

#include <algorithm>

namespace podcache::control {

namespace {

constexpr std::uint64_t kMostHeadroomBytes = 16ULL << 20;

void LowerTo(std::uint64_t& smallest, std::uint64_t limit) {
  if (limit != 0 && (smallest == 0 || limit < smallest)) smallest = limit;
}

// Everything one decision needs, worked out once.
class Decision {
 public:
  Decision(const ResizeObservation& observed, const SidecarTarget& target)
      : observed_(observed),
        target_(target),
        container_(observed.container),
        wanted_(ReachableAmounts(observed.container.spec, target.amounts)),
        safe_limit_(SafeMemoryLimitBytes(observed)),
        needs_patch_(wanted_ != observed.container.spec) {}

  ResizeStep Next() const {
    if (std::optional<ResizeStep> step = LowerServer()) return *step;
    if (needs_patch_ && !observed_.foreign_change) {
      if (std::optional<ResizeStep> step = ChangePod()) return WithRaise(*step);
    }
    if (std::optional<ResizeStep> step = RaiseServer()) return *step;
    if (!needs_patch_ && !Settled()) return WaitForKubelet();
    return Confirm();
  }

 private:
  static ResizeStep Waiting(ResizeState state, std::string message) {
    ResizeStep step;
    step.state = state;
    step.message = std::move(message);
    return step;
  }

  // A new size did not help a container that kept ending: perhaps another node does, tried once.
  ResizeStep KeepsEnding() const {
    ResizeStep step =
        Waiting(ResizeState::kError, "the cache container keeps ending: CrashLoopBackOff");
    const auto& tried_for = container_.changed_while_ending_for;
    if (observed_.recreate_allowed && tried_for && *tried_for >= observed_.deferred_timeout) {
      step.action = ResizeAction::kEvictPod;
    }
    return step;
  }

  ResizeStep NoAnswer() const {
    if (container_.keeps_ending) return KeepsEnding();
    if (!container_.running) return Waiting(ResizeState::kStarting, "the container is not running");
    return Waiting(ResizeState::kUnreachable, observed_.server_error);
  }

  bool Growing() const {
    if (wanted_.memory_limit_bytes != container_.spec.memory_limit_bytes) {
      return wanted_.memory_limit_bytes > container_.spec.memory_limit_bytes;
    }
    if (container_.actual && container_.actual->memory_limit_bytes != wanted_.memory_limit_bytes) {
      return wanted_.memory_limit_bytes > container_.actual->memory_limit_bytes;
    }
    if (observed_.server && observed_.server->limit_bytes != target_.cache_bytes) {
      return target_.cache_bytes > observed_.server->limit_bytes;
    }
    if (wanted_.cpu_limit_milli != container_.spec.cpu_limit_milli) {
      return wanted_.cpu_limit_milli > container_.spec.cpu_limit_milli;
    }
    return !observed_.server || target_.threads >= observed_.server->threads_running;
  }

  ResizeState Direction() const {
    if (observed_.foreign_change) return ResizeState::kForeignChange;
    return Growing() ? ResizeState::kGrowing : ResizeState::kShrinking;
  }

  // The pod cannot get what is wanted of it, at least not now.
  bool Stuck() const {
    if (!needs_patch_) return container_.pending != PendingResize::kNone;
    return observed_.refusal.has_value() || !observed_.resize_supported || observed_.foreign_change;
  }

  bool Fits(std::uint64_t cache_bytes) const {
    return safe_limit_ == 0 || sizing::InvariantHolds(target_.rule, cache_bytes, safe_limit_);
  }

  // The live limit that may not be exceeded now. While a larger limit is on its way, a cache that a
  // new rule finds too large keeps its items; where nothing is on its way it must come down.
  std::uint64_t Ceiling() const {
    if (Fits(target_.cache_bytes)) return target_.cache_bytes;
    const bool limit_will_grow = wanted_.memory_limit_bytes > safe_limit_ && !Stuck();
    if (limit_will_grow) return target_.cache_bytes;
    return std::min(target_.cache_bytes, sizing::LargestCacheBytes(target_.rule, safe_limit_));
  }

  std::optional<ResizeStep> LowerServer() const {
    if (!observed_.server) return std::nullopt;
    ResizeStep step;
    if (const std::uint64_t ceiling = Ceiling(); observed_.server->target_bytes > ceiling) {
      step.set_memory_bytes = ceiling;
    }
    if (observed_.server->threads_target > target_.threads) step.set_threads = target_.threads;
    if (!step.set_memory_bytes && !step.set_threads) return std::nullopt;
    step.action = ResizeAction::kUpdateServer;
    step.state = observed_.foreign_change ? ResizeState::kForeignChange : ResizeState::kShrinking;
    return step;
  }

  bool MemoryLimitFalls() const {
    std::uint64_t largest = container_.spec.memory_limit_bytes;
    if (container_.allocated) largest = std::max(largest, container_.allocated->memory_limit_bytes);
    if (container_.actual) largest = std::max(largest, container_.actual->memory_limit_bytes);
    return wanted_.memory_limit_bytes < largest;
  }

  bool CpuLimitFalls() const {
    if (wanted_.cpu_limit_milli == 0) return false;
    std::uint64_t largest = container_.spec.cpu_limit_milli;
    if (container_.actual) largest = std::max(largest, container_.actual->cpu_limit_milli);
    return largest == 0 || wanted_.cpu_limit_milli < largest;
  }

  std::optional<ResizeStep> ChangePod() const {
    if (!observed_.resize_supported) {
      return Recreate("resizing a running pod needs Kubernetes 1.33; a new pod gets the new size");
    }
    if (MemoryLimitFalls() && !observed_.decrease_supported) {
      return Recreate(
          "lowering a memory limit in place needs Kubernetes 1.34; the cache is lowered, the limit "
          "stays");
    }
    if (observed_.refusal) return Waiting(ResizeState::kInfeasible, *observed_.refusal);
    if (MemoryLimitFalls() || CpuLimitFalls()) {
      if (!observed_.server) return NoAnswer();
      if (std::optional<ResizeStep> wait = WaitForServer(*observed_.server)) return wait;
    }
    ResizeStep step;
    step.action = ResizeAction::kPatchPod;
    step.set_amounts = wanted_;
    step.state = Direction();
    return step;
  }

  // Nothing may be taken from the container before the server has given it up.
  std::optional<ResizeStep> WaitForServer(const ServerObservation& server) const {
    if (MemoryLimitFalls()) {
      if (server.limit_bytes > target_.cache_bytes) {
        return Waiting(ResizeState::kShrinking, "the cache is evicting to its new size");
      }
      const std::uint64_t headroom = ShrinkHeadroomBytes(server, target_);
      if (server.resident_bytes + headroom >= wanted_.memory_limit_bytes) {
        return Waiting(ResizeState::kWaitingForRelease,
                       "resident memory " + std::to_string(server.resident_bytes) + " + headroom " +
                           std::to_string(headroom) + " bytes is not below the new limit of " +
                           std::to_string(wanted_.memory_limit_bytes));
      }
    }
    if (CpuLimitFalls() && server.threads_running > target_.threads) {
      return Waiting(ResizeState::kShrinking, "worker threads are stopping");
    }
    return std::nullopt;
  }

  ResizeStep Recreate(std::string message) const {
    ResizeStep step = Waiting(ResizeState::kRestartRequired, std::move(message));
    if (observed_.recreate_allowed) step.action = ResizeAction::kEvictPod;
    return step;
  }

  // A pod that must wait does not keep the server from what is already safe, for example more
  // threads.
  ResizeStep WithRaise(ResizeStep step) const {
    if (step.action != ResizeAction::kNone) return step;
    if (const std::optional<ResizeStep> raise = RaiseServer()) {
      step.action = raise->action;
      step.set_memory_bytes = raise->set_memory_bytes;
      step.set_threads = raise->set_threads;
    }
    return step;
  }

  // The CPU that the wanted threads were computed from is in force.
  bool CpuSettled() const {
    if (wanted_.cpu_limit_milli != container_.spec.cpu_limit_milli) return false;
    return !container_.actual || container_.actual->cpu_limit_milli == wanted_.cpu_limit_milli;
  }

  std::optional<ResizeStep> RaiseServer() const {
    if (!observed_.server) return std::nullopt;
    ResizeStep step;
    // Only all of it: a part would leave a size nobody asked for if the rest never comes.
    if (observed_.server->target_bytes < target_.cache_bytes && Fits(target_.cache_bytes)) {
      step.set_memory_bytes = target_.cache_bytes;
    }
    if (observed_.server->threads_target < target_.threads && CpuSettled()) {
      step.set_threads = target_.threads;
    }
    if (!step.set_memory_bytes && !step.set_threads) return std::nullopt;
    step.action = ResizeAction::kUpdateServer;
    step.state = observed_.foreign_change ? ResizeState::kForeignChange : ResizeState::kGrowing;
    return step;
  }

  bool Settled() const {
    if (container_.pending != PendingResize::kNone) return false;
    if (container_.in_progress == RunningResize::kError) return false;
    if (!container_.actual) return !observed_.resize_supported;
    return container_.actual->memory_limit_bytes == wanted_.memory_limit_bytes &&
           container_.actual->cpu_limit_milli == wanted_.cpu_limit_milli;
  }

  ResizeStep WaitForKubelet() const {
    const bool silent = !container_.running || container_.keeps_ending;
    if (silent && container_.pending == PendingResize::kNone) return NoAnswer();
    if (container_.pending == PendingResize::kInfeasible) {
      return Waiting(ResizeState::kInfeasible, container_.pending_message);
    }
    if (container_.pending == PendingResize::kDeferred) {
      ResizeStep step = Waiting(ResizeState::kDeferred, container_.pending_message);
      if (observed_.recreate_allowed && container_.pending_for >= observed_.deferred_timeout) {
        step.action = ResizeAction::kEvictPod;
      }
      return step;
    }
    if (container_.in_progress == RunningResize::kError) {
      return Waiting(ResizeState::kError, container_.in_progress_message);
    }
    return Waiting(Direction(), "waiting for the kubelet");
  }

  ResizeStep Confirm() const {
    if (!observed_.server) return NoAnswer();
    const ServerObservation& server = *observed_.server;
    const bool memory_done =
        server.target_bytes == target_.cache_bytes && server.limit_bytes == target_.cache_bytes;
    const bool threads_done =
        server.threads_target == target_.threads && server.threads_running == target_.threads;
    if (memory_done && threads_done) {
      return Waiting(observed_.foreign_change ? ResizeState::kForeignChange : ResizeState::kIdle,
                     "");
    }
    return Waiting(Direction(), "waiting for the cache");
  }

  const ResizeObservation& observed_;
  const SidecarTarget& target_;
  const ContainerObservation& container_;
  const ContainerAmounts wanted_;
  const std::uint64_t safe_limit_;
  const bool needs_patch_;
};

}  // namespace

ContainerAmounts ReachableAmounts(const ContainerAmounts& spec, const ContainerAmounts& wanted) {
  ContainerAmounts reachable = wanted;
  if (wanted.cpu_limit_milli == 0) reachable.cpu_limit_milli = spec.cpu_limit_milli;
  return reachable;
}

std::uint64_t SafeMemoryLimitBytes(const ResizeObservation& observed) {
  std::uint64_t smallest = 0;
  LowerTo(smallest, observed.container.spec.memory_limit_bytes);
  if (observed.container.allocated)
    LowerTo(smallest, observed.container.allocated->memory_limit_bytes);
  if (observed.container.actual) LowerTo(smallest, observed.container.actual->memory_limit_bytes);
  if (observed.server) LowerTo(smallest, observed.server->cgroup_limit_bytes);
  return smallest;
}

std::uint64_t ShrinkHeadroomBytes(const ServerObservation& server, const SidecarTarget& target) {
  const std::uint64_t limit = target.amounts.memory_limit_bytes;
  const std::uint64_t overhead = limit > target.cache_bytes ? limit - target.cache_bytes : 0;
  return std::max(std::min(kMostHeadroomBytes, overhead / 4), server.growth_bytes_per_second);
}

ResizeStep NextResizeStep(const ResizeObservation& observed, const SidecarTarget& target) {
  return Decision(observed, target).Next();
}

}  // namespace podcache::control
