// A Backend of plain values for tests: memory from 8 MiB to 1 GiB, threads from 1 to 16, and a
// resize that advances by one step each time somebody looks at it.
#pragma once

#include <string>

#include "common/base/mutex.h"
#include "podcache/admin/v1/admin.pb.h"
#include "server/admin/backend.h"

namespace podcache::admin {

class FakeBackend : public Backend {
 public:
  static constexpr std::uint64_t kMinBytes = 8ULL << 20;
  static constexpr std::uint64_t kMaxBytes = 1ULL << 30;
  static constexpr std::uint64_t kCgroupBytes = 512ULL << 20;

  FakeBackend() {
    config_.mutable_memory()->set_target_bytes(64ULL << 20);
    config_.mutable_memory()->set_limit_bytes(64ULL << 20);
    config_.mutable_threads()->set_target(2);
    config_.mutable_threads()->set_running(2);
    config_.set_max_connections(1024);
    config_.set_max_item_size_bytes(1ULL << 20);
  }

  v1::ServerInfo GetServerInfo() const override {
    v1::ServerInfo info;
    info.set_version("1.2.3");
    info.set_architecture("arm64");
    info.set_page_size_bytes(16384);
    info.set_usable_cpus(3);
    info.set_cgroup_cpu_quota_cores(1.5);
    info.set_cgroup_memory_limit_bytes(kCgroupBytes);
    info.set_cgroup_memory_usage_bytes(77);
    info.set_resident_memory_bytes(78);
    info.mutable_start_time()->set_seconds(1'700'000'000);
    info.mutable_sizing()->set_source(v1::SizingChoice::RULE);
    info.mutable_sizing()->set_rule_name("arm64-16k");
    info.set_config_hash("abc");
    *info.mutable_config() = GetConfig();
    info.set_resize_in_progress(true);
    return info;
  }
  v1::Config GetConfig() const override {
    MutexLock lock(mutex_);
    return config_;
  }
  v1::Stats GetStats() const override {
    v1::Stats stats;
    stats.set_current_items(11);
    stats.set_current_bytes(12);
    stats.set_limit_bytes(13);
    stats.set_resident_memory_bytes(14);
    stats.set_get_hits(15);
    stats.set_get_misses(16);
    stats.set_cmd_set(17);
    stats.set_evictions(18);
    stats.set_current_connections(19);
    stats.set_threads(20);
    return stats;
  }
  v1::ResizeProgress GetResizeProgress() const override {
    MutexLock lock(mutex_);
    v1::ResizeProgress progress;
    progress.set_memory_target_bytes(config_.memory().target_bytes());
    progress.set_memory_limit_bytes(config_.memory().limit_bytes());
    progress.set_done(steps_left_ == 0);
    progress.set_state(steps_left_ == 0 ? v1::ResizeProgress::IDLE : v1::ResizeProgress::SHRINKING);
    if (steps_left_ > 0) --steps_left_;
    return progress;
  }

  ChangeResult CheckMemoryTarget(std::uint64_t bytes) const override {
    if (bytes < kMinBytes || bytes > kMaxBytes) {
      return {ChangeCode::kOutOfRange, "must be from 8388608 to 1073741824 bytes"};
    }
    if (bytes > kCgroupBytes) {
      return {ChangeCode::kExceedsCgroup, "the cgroup limit of 536870912 bytes does not hold it"};
    }
    return {};
  }
  ChangeResult CheckThreadTarget(std::uint32_t threads) const override {
    if (threads < 1 || threads > 16) return {ChangeCode::kOutOfRange, "must be from 1 to 16"};
    return {};
  }
  ChangeResult SetMemoryTarget(std::uint64_t bytes) override {
    MutexLock lock(mutex_);
    if (fail_set_memory_) return {ChangeCode::kExceedsCgroup, "the cgroup was lowered"};
    config_.mutable_memory()->set_target_bytes(bytes);
    return {};
  }
  ChangeResult SetThreadTarget(std::uint32_t threads) override {
    MutexLock lock(mutex_);
    config_.mutable_threads()->set_target(threads);
    return {};
  }
  void Flush(std::chrono::seconds delay) override {
    MutexLock lock(mutex_);
    ++flushes_;
    flush_delay_ = delay;
  }

  void set_resize_steps(int steps) {
    MutexLock lock(mutex_);
    steps_left_ = steps;
  }
  void set_fail_set_memory(bool fail) {
    MutexLock lock(mutex_);
    fail_set_memory_ = fail;
  }
  int flushes() const {
    MutexLock lock(mutex_);
    return flushes_;
  }
  std::chrono::seconds flush_delay() const {
    MutexLock lock(mutex_);
    return flush_delay_;
  }

 private:
  mutable Mutex mutex_;
  v1::Config config_ GUARDED_BY(mutex_);
  mutable int steps_left_ GUARDED_BY(mutex_) = 0;
  bool fail_set_memory_ GUARDED_BY(mutex_) = false;
  int flushes_ GUARDED_BY(mutex_) = 0;
  std::chrono::seconds flush_delay_ GUARDED_BY(mutex_){0};
};

}  // namespace podcache::admin
