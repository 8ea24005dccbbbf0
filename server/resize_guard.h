// The thread that keeps an eye on the cgroup and on a resize under way: it calls
// RuntimeConfig::Poll.
//
// Threads: its own; started by the constructor, joined by the destructor. Ownership: `runtime`
// outlives this.
#pragma once

#include <chrono>
#include <thread>

#include "common/base/mutex.h"

namespace podcache::server {

class RuntimeConfig;

class ResizeGuard {
 public:
  explicit ResizeGuard(RuntimeConfig& runtime);
  ~ResizeGuard();
  ResizeGuard(const ResizeGuard&) = delete;
  ResizeGuard& operator=(const ResizeGuard&) = delete;

 private:
  void Run();

  RuntimeConfig& runtime_;
  Mutex mutex_;
  CondVar wake_;
  bool stop_ GUARDED_BY(mutex_) = false;
  std::thread thread_;
};

}  // namespace podcache::server
