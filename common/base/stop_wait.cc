#include "common/base/stop_wait.h"

#include <condition_variable>
#include <mutex>

namespace podcache {

bool WaitOrStop(const std::stop_token& stop, std::chrono::nanoseconds duration) {
  std::mutex mutex;
  std::condition_variable_any condition;
  std::unique_lock<std::mutex> lock(mutex);
  condition.wait_for(lock, stop, duration, [] { return false; });
  return stop.stop_requested();
}

}  // namespace podcache
