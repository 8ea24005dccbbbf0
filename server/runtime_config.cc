#include "server/runtime_config.h"

#include <algorithm>
#include <utility>

#include "common/process/process_stats.h"
#include "server/net/worker_pool.h"
#include "server/store/store.h"

namespace podcache::server {

namespace {

std::string Bytes(std::uint64_t bytes) { return std::to_string(bytes) + " bytes"; }

UpdateResult Refused(UpdateCode code, std::string message) {
  return UpdateResult{code, std::move(message)};
}

}  // namespace

RuntimeConfig::RuntimeConfig(store::Store& store, net::WorkerPool& pool,
                             const cgroup::Reader& cgroup, const Clock& clock, FixedSettings fixed,
                             std::uint64_t memory_target_bytes)
    : store_(store),
      pool_(pool),
      cgroup_(cgroup),
      clock_(clock),
      fixed_(std::move(fixed)),
      memory_target_bytes_(memory_target_bytes),
      ceiling_bytes_(ReadCeiling()),
      applied_bytes_(store.resize_state().limit_bytes) {}

std::optional<std::uint64_t> RuntimeConfig::ReadCeiling() const {
  const auto limit = cgroup_.MemoryLimitBytes();
  if (!limit) return std::nullopt;
  return sizing::LargestCacheBytes(fixed_.sizing.memory, *limit);
}

UpdateResult RuntimeConfig::CheckMemoryTarget(std::uint64_t target_bytes) const {
  const std::uint64_t smallest = store_.min_memory_limit_bytes();
  const std::uint64_t largest = store_.max_memory_limit_bytes();
  if (target_bytes < smallest || target_bytes > largest) {
    return Refused(UpdateCode::kOutOfRange, "memory target of " + Bytes(target_bytes) +
                                                " is not between " + Bytes(smallest) + " and " +
                                                Bytes(largest));
  }
  const auto limit = cgroup_.MemoryLimitBytes();
  if (limit && !sizing::InvariantHolds(fixed_.sizing.memory, target_bytes, *limit)) {
    const std::uint64_t needed =
        sizing::RequiredCgroupLimitBytes(fixed_.sizing.memory, target_bytes);
    return Refused(UpdateCode::kExceedsCgroup,
                   "memory target of " + Bytes(target_bytes) + " needs a cgroup memory limit of " +
                       Bytes(needed) + ", but the limit is " + Bytes(*limit));
  }
  return {};
}

UpdateResult RuntimeConfig::CheckThreadTarget(std::uint32_t threads) const {
  if (threads >= 1 && threads <= net::kMaxThreads) return {};
  return Refused(UpdateCode::kOutOfRange, "thread target of " + std::to_string(threads) +
                                              " is not between 1 and " +
                                              std::to_string(net::kMaxThreads));
}

UpdateResult RuntimeConfig::SetMemoryTarget(std::uint64_t target_bytes) {
  UpdateResult result = CheckMemoryTarget(target_bytes);
  if (!result.ok()) return result;
  MutexLock lock(mutex_);
  NoteProgressLocked();
  ceiling_bytes_ = ReadCeiling();
  memory_target_bytes_ = target_bytes;
  if (!ApplyLocked()) result = Refused(UpdateCode::kFailed, "the store refused the memory target");
  return result;
}

UpdateResult RuntimeConfig::SetThreadTarget(std::uint32_t threads) {
  UpdateResult result = CheckThreadTarget(threads);
  if (!result.ok()) return result;
  const bool changes = pool_.threads_target() != threads || pool_.threads_running() != threads;
  const bool done = pool_.SetThreads(threads);
  if (!done) {
    result = Refused(UpdateCode::kFailed, "the system gives no more threads than the " +
                                              std::to_string(pool_.threads_running()) +
                                              " that are running");
  }
  MutexLock lock(mutex_);
  if (!done) ++counters_.thread_resizes_failed;
  if (done && changes) ++counters_.thread_resizes_done;
  return result;
}

std::uint64_t RuntimeConfig::EffectiveTargetLocked() const {
  const std::uint64_t wanted =
      ceiling_bytes_ ? std::min(memory_target_bytes_, *ceiling_bytes_) : memory_target_bytes_;
  // A cgroup too small for any cache leaves the smallest one: serving goes on.
  return std::clamp(wanted, store_.min_memory_limit_bytes(), store_.max_memory_limit_bytes());
}

bool RuntimeConfig::ApplyLocked() {
  const std::uint64_t wanted = EffectiveTargetLocked();
  if (wanted == applied_bytes_) return true;
  if (resize_.active) FinishResizeLocked(ResizeResult::kSuperseded);
  const bool grows = wanted > store_.resize_state().limit_bytes;
  resize_ = Resize{true,
                   grows ? ResizeDirection::kGrow : ResizeDirection::kShrink,
                   0,
                   clock_.MonotonicNow(),
                   {}};
  if (!store_.SetMemoryTarget(wanted)) {
    FinishResizeLocked(ResizeResult::kFailed);
    return false;
  }
  applied_bytes_ = wanted;
  resize_.generation = store_.resize_state().generation;
  NoteProgressLocked();
  return true;
}

void RuntimeConfig::NoteProgressLocked() {
  if (!resize_.active) return;
  const store::ResizeState state = store_.resize_state();
  if (!state.in_progress && state.generation >= resize_.generation) {
    FinishResizeLocked(ResizeResult::kDone);
  }
}

void RuntimeConfig::FinishResizeLocked(ResizeResult result) {
  resize_.active = false;
  resize_.took = clock_.MonotonicNow() - resize_.started;
  const auto direction = static_cast<std::size_t>(resize_.direction);
  ++counters_.memory_resizes[direction][static_cast<std::size_t>(result)];
  if (result != ResizeResult::kDone) return;
  std::size_t bucket = 0;
  while (bucket < kResizeBucketsMs.size() &&
         resize_.took > std::chrono::milliseconds(kResizeBucketsMs[bucket])) {
    ++bucket;
  }
  ++counters_.duration_buckets[direction][bucket];
  counters_.duration_sum_seconds[direction] += std::chrono::duration<double>(resize_.took).count();
}

bool RuntimeConfig::Poll() {
  const std::optional<std::uint64_t> ceiling = ReadCeiling();
  MutexLock lock(mutex_);
  NoteProgressLocked();
  if (ceiling != ceiling_bytes_) {
    ceiling_bytes_ = ceiling;
    const std::uint64_t before = applied_bytes_;
    if (ApplyLocked() && applied_bytes_ < before) ++counters_.pressure_shrinks;
  }
  return resize_.active;
}

MemorySettings RuntimeConfig::memory() const {
  const std::uint64_t limit = store_.resize_state().limit_bytes;
  MutexLock lock(mutex_);
  return MemorySettings{memory_target_bytes_, limit, applied_bytes_};
}

ThreadSettings RuntimeConfig::threads() const {
  return ThreadSettings{pool_.threads_target(), pool_.threads_running()};
}

ResizeProgress RuntimeConfig::progress() {
  ResizeProgress progress;
  progress.threads = threads();
  progress.resident_bytes = ReadResidentMemoryBytes();
  MutexLock lock(mutex_);
  NoteProgressLocked();
  const store::ResizeState state = store_.resize_state();
  progress.memory = MemorySettings{memory_target_bytes_, state.limit_bytes, applied_bytes_};
  progress.items_evicted = state.evicted_items;
  progress.elapsed = resize_.active ? clock_.MonotonicNow() - resize_.started : resize_.took;
  if (resize_.active) {
    progress.state = resize_.direction == ResizeDirection::kGrow
                         ? ResizeProgress::State::kGrowing
                         : ResizeProgress::State::kShrinking;
  }
  progress.done = !resize_.active && progress.threads.running == progress.threads.target;
  return progress;
}

ResizeCounters RuntimeConfig::counters() const {
  MutexLock lock(mutex_);
  return counters_;
}

}  // namespace podcache::server
