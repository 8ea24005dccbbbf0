// What podcache-bench can do; each prints one line of JSON. They throw Failure.
#pragma once

#include "tests/benchmark/load/options.h"

namespace podcache::bench {

// Returns the exit code: 1 if a reply was wrong.
int RunCommand(const Options& options);

}  // namespace podcache::bench
