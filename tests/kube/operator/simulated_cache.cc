#include "tests/kube/operator/simulated_cache.h"

#include <algorithm>

#include "podcache/admin/v1/admin.pb.h"

namespace podcache::control {

namespace {
constexpr std::uint64_t kEvictionStep = 16ULL << 20;
constexpr std::uint64_t kReleaseStep = 24ULL << 20;
}  // namespace

SimulatedCache::State SimulatedCache::state() const {
  MutexLock lock(mutex_);
  return state_;
}

std::vector<std::string> SimulatedCache::log() const {
  MutexLock lock(mutex_);
  return log_;
}

std::vector<std::string> SimulatedCache::violations() const {
  MutexLock lock(mutex_);
  return violations_;
}

void SimulatedCache::Note(const std::string& what) {
  log_.push_back(what);
  if (!sizing::InvariantHolds(rule_, state_.limit_bytes, state_.cgroup_bytes)) {
    violations_.push_back(what + ": live " + std::to_string(state_.limit_bytes) + " in cgroup " +
                          std::to_string(state_.cgroup_bytes));
  }
}

void SimulatedCache::SetCgroup(std::uint64_t bytes) {
  MutexLock lock(mutex_);
  state_.cgroup_bytes = bytes;
  Note("cgroup " + std::to_string(bytes));
}

void SimulatedCache::Hold(bool holding) {
  MutexLock lock(mutex_);
  holding_ = holding;
}

void SimulatedCache::Tick() {
  MutexLock lock(mutex_);
  if (state_.limit_bytes > state_.target_bytes) {
    state_.limit_bytes = std::max(state_.target_bytes,
                                  state_.limit_bytes - std::min(state_.limit_bytes, kEvictionStep));
    if (state_.limit_bytes == state_.target_bytes)
      Note("live " + std::to_string(state_.limit_bytes));
  } else if (!holding_ && state_.resident_bytes > state_.limit_bytes) {
    state_.resident_bytes = std::max(
        state_.limit_bytes, state_.resident_bytes - std::min(state_.resident_bytes, kReleaseStep));
  }
  state_.threads_running = state_.threads_target;
}

admin::v1::ServerInfo SimulatedCache::GetServerInfo() const {
  admin::v1::ServerInfo info;
  info.set_version("test");
  info.set_architecture("amd64");
  info.set_page_size_bytes(4096);
  info.set_usable_cpus(4);
  {
    MutexLock lock(mutex_);
    info.set_cgroup_memory_limit_bytes(state_.cgroup_bytes);
    info.set_resident_memory_bytes(state_.resident_bytes);
  }
  *info.mutable_config() = GetConfig();
  return info;
}

admin::v1::Config SimulatedCache::GetConfig() const {
  MutexLock lock(mutex_);
  admin::v1::Config config;
  config.mutable_memory()->set_target_bytes(state_.target_bytes);
  config.mutable_memory()->set_limit_bytes(state_.limit_bytes);
  config.mutable_threads()->set_target(state_.threads_target);
  config.mutable_threads()->set_running(state_.threads_running);
  return config;
}

admin::v1::Stats SimulatedCache::GetStats() const { return {}; }

admin::v1::ResizeProgress SimulatedCache::GetResizeProgress() const {
  admin::v1::ResizeProgress progress;
  progress.set_done(true);
  return progress;
}

admin::ChangeResult SimulatedCache::CheckMemoryTarget(std::uint64_t target_bytes) const {
  MutexLock lock(mutex_);
  if (!sizing::InvariantHolds(rule_, target_bytes, state_.cgroup_bytes)) {
    return {admin::ChangeCode::kExceedsCgroup, "the cgroup does not hold it"};
  }
  return {};
}

admin::ChangeResult SimulatedCache::CheckThreadTarget(std::uint32_t) const { return {}; }

admin::ChangeResult SimulatedCache::SetMemoryTarget(std::uint64_t target_bytes) {
  MutexLock lock(mutex_);
  state_.target_bytes = target_bytes;
  if (target_bytes > state_.limit_bytes) {
    state_.limit_bytes = target_bytes;
    Note("live " + std::to_string(target_bytes));
  }
  return {};
}

admin::ChangeResult SimulatedCache::SetThreadTarget(std::uint32_t threads) {
  MutexLock lock(mutex_);
  state_.threads_target = threads;
  Note("threads " + std::to_string(threads));
  return {};
}

}  // namespace podcache::control
