// The body of main in the benchmarks' programs: what went wrong is said in a line, and is status 2.
#pragma once

#include <cstdio>
#include <exception>

namespace podcache::bench {

// `body` returns the exit status.
template <class Body>
int RunMain(const char* program, Body&& body) {
  try {
    return body();
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "%s: %s\n", program, failure.what());
    return 2;
  }
}

}  // namespace podcache::bench
