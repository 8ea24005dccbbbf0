// The next step of a live resize of one cache: a pure function of what the pod and the server
// report and of what is wanted. Nothing is remembered between steps but refused attempts, so an
// operator that starts in the middle goes on.
//
//   grow:    PATCH pods/resize → actual limit is there → raise the live limit → the server confirms
//   shrink:  lower the live limit → memory is returned → PATCH pods/resize → actual limit is there
//   threads: lowered before the CPU limit, raised after it
//   mixed:   lower what shrinks, one PATCH, raise what grows
//
// Invariant at every instant, whatever fails in between:
//   live limit × (1 + overheadPercent / 100) + overheadFixed ≤ actual memory limit of the container
//
// Sources: docs/designs/0003-resize.md; KEP-1287 for conditions and fields. Units: bytes,
// thousandths of a core.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/sizing/sizing.h"
#include "operator/resources/container_amounts.h"

namespace podcache::control {

// What this pod should have. `cache_bytes` already fits `amounts` under `rule`.
struct SidecarTarget {
  std::uint64_t cache_bytes = 0;
  std::uint32_t threads = 0;
  ContainerAmounts amounts;
  sizing::MemoryRule rule;
};

enum class PendingResize : std::uint8_t { kNone, kDeferred, kInfeasible };
enum class RunningResize : std::uint8_t { kNone, kInProgress, kError };

// The container as the API server describes it.
struct ContainerObservation {
  bool running = false;
  bool keeps_ending = false;  // CrashLoopBackOff.
  // How long ago we changed it while it kept ending; it has not settled since.
  std::optional<std::chrono::seconds> changed_while_ending_for;
  ContainerAmounts spec;
  std::optional<ContainerAmounts> allocated;  // Granted by the kubelet.
  std::optional<ContainerAmounts> actual;     // In force, as the kubelet reads it back.
  PendingResize pending = PendingResize::kNone;
  std::string pending_message;
  std::chrono::seconds pending_for{0};
  RunningResize in_progress = RunningResize::kNone;
  std::string in_progress_message;
};

// The cache as it describes itself.
struct ServerObservation {
  std::uint64_t target_bytes = 0;
  std::uint64_t limit_bytes = 0;
  std::uint64_t resident_bytes = 0;
  std::uint64_t cgroup_limit_bytes = 0;       // 0: none.
  std::uint64_t growth_bytes_per_second = 0;  // Highest seen of late.
  std::uint32_t threads_target = 0;
  std::uint32_t threads_running = 0;
};

struct ResizeObservation {
  ContainerObservation container;
  std::optional<ServerObservation> server;  // Absent: nobody answers.
  std::string server_error;
  // This very value was refused for this pod at this generation; the API server's words.
  std::optional<std::string> refusal;
  // Somebody else changed the container after we had set it; `target` then follows what is there.
  bool foreign_change = false;
  bool resize_supported = true;    // pods/resize is served.
  bool decrease_supported = true;  // Memory limits may be lowered in place (Kubernetes 1.34).
  bool recreate_allowed = false;   // resize.mode InPlaceOrRecreate.
  std::chrono::seconds deferred_timeout{300};
};

enum class ResizeState : std::uint8_t {
  kIdle,
  kStarting,
  kGrowing,
  kShrinking,
  kWaitingForRelease,
  kDeferred,
  kInfeasible,
  kError,
  kUnreachable,
  kRestartRequired,
  kForeignChange,
};

enum class ResizeAction : std::uint8_t { kNone, kUpdateServer, kPatchPod, kEvictPod };

struct ResizeStep {
  ResizeAction action = ResizeAction::kNone;
  // For kUpdateServer, at least one is set.
  std::optional<std::uint64_t> set_memory_bytes;
  std::optional<std::uint32_t> set_threads;
  // For kPatchPod.
  ContainerAmounts set_amounts;

  ResizeState state = ResizeState::kIdle;
  std::string message;
};

ResizeStep NextResizeStep(const ResizeObservation& observed, const SidecarTarget& target);

// What must stay free below a new, lower memory limit: a second of the fastest growth seen, and
// never less than a share of the overhead that the limit contains.
std::uint64_t ShrinkHeadroomBytes(const ServerObservation& server, const SidecarTarget& target);

// What a PATCH can bring about: a limit once set cannot be taken away in place, so it stays.
ContainerAmounts ReachableAmounts(const ContainerAmounts& spec, const ContainerAmounts& wanted);

// Smallest memory limit that may be in force now or after the kubelet's next step; 0: none known.
std::uint64_t SafeMemoryLimitBytes(const ResizeObservation& observed);

}  // namespace podcache::control
