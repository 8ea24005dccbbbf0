// A wait that a stop ends at once.
//
// Threads: any. Real time: what is tested on a manual clock returns its delay instead of waiting.
#pragma once

#include <chrono>
#include <stop_token>

namespace podcache {

// True when the stop came before the time was over.
bool WaitOrStop(const std::stop_token& stop, std::chrono::nanoseconds duration);

}  // namespace podcache
