#include "server/resize_guard.h"

#include "server/runtime_config.h"

namespace podcache::server {

namespace {
// Between two looks: quickly while something moves, else often enough to follow a lowered cgroup
// before the kernel has to act (the reads cost some ten microseconds).
constexpr std::chrono::milliseconds kBusyPeriod{10};
constexpr std::chrono::milliseconds kIdlePeriod{200};
}  // namespace

ResizeGuard::ResizeGuard(RuntimeConfig& runtime) : runtime_(runtime), thread_([this] { Run(); }) {}

ResizeGuard::~ResizeGuard() {
  {
    MutexLock lock(mutex_);
    stop_ = true;
    wake_.NotifyAll();
  }
  thread_.join();
}

void ResizeGuard::Run() {
  while (true) {
    const bool busy = runtime_.Poll();
    MutexLock lock(mutex_);
    if (!stop_) wake_.WaitFor(mutex_, busy ? kBusyPeriod : kIdlePeriod);
    if (stop_) return;
  }
}

}  // namespace podcache::server
