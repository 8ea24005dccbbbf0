// The settings that change while the server runs, memory and worker threads, with one owner: this
// class.
//
// Whoever changes them (gRPC, a command, the cgroup guard) goes through here, so that the rules
// hold at one place:
//   - what is asked for (`target`) is kept apart from what is in force (`limit`, `running`);
//   - the memory in force never exceeds what the cgroup holds under the sizing rule in use:
//       limit × (1 + overhead_percent / 100) + overhead_fixed_bytes ≤ cgroup limit
//     When somebody lowers the cgroup the limit follows at once; when it rises again the limit
//     returns to the target, never beyond it.
//
// Threads: every function may be called from any thread. Poll() is called by one thread, the
// server's guard. Ownership: store, pool, cgroup reader and clock outlive this. Source: "Live
// resize" in docs/architecture.md, docs/designs/0001.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/cgroup/cgroup.h"
#include "common/sizing/sizing.h"

namespace podcache::store {
class Store;
}
namespace podcache::net {
class WorkerPool;
}

namespace podcache::server {

// How memory and threads were chosen at start.
enum class SizingSource : std::uint8_t {
  kExplicit,  // -m on the command line.
  kRule,      // A rule of the table that travels with the pod.
  kNoMatch,   // A table was given and nothing in it matched: the built-in default.
  kCgroup,    // No table: derived from the cgroup (or the default without a limit).
};

struct SizingChoice {
  SizingSource source = SizingSource::kCgroup;
  std::string rule_name;  // For kRule.
  sizing::MemoryRule memory;
};

// What never changes after start, as the admin API shows it.
struct FixedSettings {
  SizingChoice sizing;
  std::string config_hash;  // Of the pod configuration; empty outside Kubernetes.
  std::uint32_t max_connections = 1024;
  std::uint64_t max_item_size_bytes = 1ULL << 20;
};

enum class UpdateCode : std::uint8_t {
  kOk,
  kOutOfRange,     // The message names the range.
  kExceedsCgroup,  // The message names the cgroup limit and what would be needed.
  kFailed,         // The environment refused, for example no more threads.
};

struct [[nodiscard]] UpdateResult {
  UpdateCode code = UpdateCode::kOk;
  std::string message;  // Empty if kOk.
  bool ok() const { return code == UpdateCode::kOk; }
};

struct MemorySettings {
  std::uint64_t target_bytes = 0;  // Asked for.
  std::uint64_t limit_bytes = 0;   // In force now.
  // What the limit is on its way to: the target, or less while the cgroup does not hold it.
  std::uint64_t effective_target_bytes = 0;
};

struct ThreadSettings {
  std::uint32_t target = 0;
  std::uint32_t running = 0;
};

enum class ResizeDirection : std::uint8_t { kGrow, kShrink, kCount };
enum class ResizeResult : std::uint8_t { kDone, kFailed, kSuperseded, kCount };

// The resize under way, or the state after the last one.
struct ResizeProgress {
  enum class State : std::uint8_t { kIdle, kGrowing, kShrinking };
  State state = State::kIdle;
  MemorySettings memory;
  ThreadSettings threads;
  std::uint64_t resident_bytes = 0;
  std::uint64_t items_evicted = 0;      // By this resize.
  std::chrono::nanoseconds elapsed{0};  // Since it was asked for; of the last one when idle.
  bool done = true;                     // Nothing is under way any more.
};

// Upper bounds of podcache_memory_resize_duration_seconds in milliseconds; one more bucket is above
// all.
inline constexpr std::array<std::uint32_t, 10> kResizeBucketsMs = {10,   50,   100,  250,   500,
                                                                   1000, 2500, 5000, 15000, 60000};

// Since start; never fall.
struct ResizeCounters {
  template <class T, class Enum>
  using PerEnum = std::array<T, static_cast<std::size_t>(Enum::kCount)>;
  PerEnum<PerEnum<std::uint64_t, ResizeResult>, ResizeDirection> memory_resizes{};
  PerEnum<std::array<std::uint64_t, kResizeBucketsMs.size() + 1>, ResizeDirection>
      duration_buckets{};
  PerEnum<double, ResizeDirection> duration_sum_seconds{};
  std::uint64_t pressure_shrinks =
      0;  // The guard lowered the limit because the cgroup was lowered.
  std::uint64_t thread_resizes_done = 0;
  std::uint64_t thread_resizes_failed = 0;
};

class RuntimeConfig {
 public:
  // `memory_target_bytes` is what was asked for at start; the store may have been made with less (a
  // smaller cgroup).
  RuntimeConfig(store::Store& store, net::WorkerPool& pool, const cgroup::Reader& cgroup,
                const Clock& clock, FixedSettings fixed, std::uint64_t memory_target_bytes);

  // Both return as soon as the change is accepted; it runs on by itself. Asking for what is already
  // so is kOk.
  UpdateResult SetMemoryTarget(std::uint64_t target_bytes);
  UpdateResult SetThreadTarget(std::uint32_t threads);
  // Whether SetMemoryTarget/SetThreadTarget would accept, changing nothing: for updates of several
  // fields at once.
  UpdateResult CheckMemoryTarget(std::uint64_t target_bytes) const;
  UpdateResult CheckThreadTarget(std::uint32_t threads) const;

  MemorySettings memory() const;
  ThreadSettings threads() const;
  ResizeProgress progress();
  ResizeCounters counters() const;

  const FixedSettings& fixed() const { return fixed_; }
  const cgroup::Reader& cgroup() const { return cgroup_; }

  // Looks at the cgroup and at the resize under way. Called several times a second. Returns whether
  // one is under way.
  bool Poll();

 private:
  struct Resize {
    bool active = false;
    ResizeDirection direction = ResizeDirection::kGrow;
    std::uint64_t generation = 0;  // The store's, of this resize.
    std::chrono::nanoseconds started{0};
    std::chrono::nanoseconds took{0};
  };

  // The largest limit the cgroup holds now; nothing without a cgroup limit.
  std::optional<std::uint64_t> ReadCeiling() const;
  std::uint64_t EffectiveTargetLocked() const REQUIRES(mutex_);
  // Starts a resize if the effective target is another than the one last given to the store.
  bool ApplyLocked() REQUIRES(mutex_);
  void NoteProgressLocked() REQUIRES(mutex_);
  void FinishResizeLocked(ResizeResult result) REQUIRES(mutex_);

  store::Store& store_;
  net::WorkerPool& pool_;
  const cgroup::Reader& cgroup_;
  const Clock& clock_;
  const FixedSettings fixed_;

  mutable Mutex mutex_;
  std::uint64_t memory_target_bytes_ GUARDED_BY(mutex_);
  // What the cgroup holds, as last seen; nothing: no limit.
  std::optional<std::uint64_t> ceiling_bytes_ GUARDED_BY(mutex_);
  std::uint64_t applied_bytes_ GUARDED_BY(mutex_) = 0;
  Resize resize_ GUARDED_BY(mutex_);
  ResizeCounters counters_ GUARDED_BY(mutex_);
};

}  // namespace podcache::server
