// podcache-bench: load for servers of memcached's text protocol. tools/bench drives it.
#include <cstdio>
#include <exception>

#include "tests/benchmark/load/commands.h"
#include "tests/benchmark/load/options.h"

int main(int argc, char** argv) {
  try {
    return podcache::bench::RunCommand(podcache::bench::ParseOptions(argc, argv));
  } catch (const std::exception& failure) {
    std::fprintf(stderr, "podcache-bench: %s\n", failure.what());
    return 2;
  }
}
