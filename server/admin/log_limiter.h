// Lets through so many lines a minute and says how many it held back: for lines that strangers can
// cause, such as failed handshakes on the admin port.
//
// Threads: any. Ownership: the clock outlives this.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>

#include "common/base/clock.h"
#include "common/base/mutex.h"

namespace podcache::admin {

using LineWriter = std::function<void(const std::string& line)>;

class LogLimiter {
 public:
  LogLimiter(const Clock& clock, LineWriter write, std::uint32_t lines_per_minute);

  // Never two calls of the writer at a time.
  void Write(const std::string& line);

 private:
  const Clock& clock_;
  const LineWriter write_;
  const std::uint32_t lines_per_minute_;
  Mutex mutex_;
  std::chrono::nanoseconds minute_start_ GUARDED_BY(mutex_);
  std::uint32_t lines_ GUARDED_BY(mutex_) = 0;
  std::uint64_t held_back_ GUARDED_BY(mutex_) = 0;
};

// gRPC's own complaints go through a limiter to `write` instead of to standard error. Once per
// process, before the first server; later calls change nothing. gRPC's log function has no room for
// a context, hence no object.
void RouteGrpcLog(LineWriter write);

}  // namespace podcache::admin
