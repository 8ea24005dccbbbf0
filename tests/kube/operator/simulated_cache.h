// A cache that is not there, behind the server's real admin port: it evicts and gives memory back
// in steps, refuses what its cgroup does not hold, and notes every moment at which the invariant of
// a resize is broken.
//
// Threads: any. Ownership: the endpoint that serves it must be stopped before it goes.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "common/sizing/sizing.h"
#include "server/admin/backend.h"

namespace podcache::control {

class SimulatedCache final : public admin::Backend {
 public:
  struct State {
    std::uint64_t target_bytes = 0;
    std::uint64_t limit_bytes = 0;
    std::uint64_t resident_bytes = 0;
    std::uint64_t cgroup_bytes = 0;
    std::uint32_t threads_target = 1;
    std::uint32_t threads_running = 1;
  };

  SimulatedCache(const State& start, const sizing::MemoryRule& rule) : rule_(rule), state_(start) {}

  State state() const;
  // What happened, in order: "live N", "threads N", "cgroup N" (bytes).
  std::vector<std::string> log() const;
  // Moments at which live limit and cgroup did not fit.
  std::vector<std::string> violations() const;
  // The kubelet sets the cgroup.
  void SetCgroup(std::uint64_t bytes);
  // A step of the server itself. While `holding`, memory is not given back.
  void Tick();
  void Hold(bool holding);

  admin::v1::ServerInfo GetServerInfo() const override;
  admin::v1::Config GetConfig() const override;
  admin::v1::Stats GetStats() const override;
  admin::v1::ResizeProgress GetResizeProgress() const override;
  admin::ChangeResult CheckMemoryTarget(std::uint64_t target_bytes) const override;
  admin::ChangeResult CheckThreadTarget(std::uint32_t threads) const override;
  admin::ChangeResult SetMemoryTarget(std::uint64_t target_bytes) override;
  admin::ChangeResult SetThreadTarget(std::uint32_t threads) override;
  void Flush(std::chrono::seconds) override {}

 private:
  void Note(const std::string& what) REQUIRES(mutex_);

  const sizing::MemoryRule rule_;
  mutable Mutex mutex_;
  State state_ GUARDED_BY(mutex_);
  bool holding_ GUARDED_BY(mutex_) = false;
  std::vector<std::string> log_ GUARDED_BY(mutex_);
  std::vector<std::string> violations_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
