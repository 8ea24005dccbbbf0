#include "common/base/clock.h"

namespace podcache {

std::chrono::nanoseconds SystemClock::MonotonicNow() const {
  return std::chrono::steady_clock::now().time_since_epoch();
}

std::chrono::nanoseconds SystemClock::WallNow() const {
  return std::chrono::system_clock::now().time_since_epoch();
}

}  // namespace podcache
