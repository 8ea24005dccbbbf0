// podcache-bench: load for servers of memcached's text protocol. tools/bench drives it.

#include "tests/benchmark/load/commands.h"
#include "tests/benchmark/load/options.h"
#include "tests/benchmark/load/run_main.h"

int main(int argc, char** argv) {
  return podcache::bench::RunMain("podcache-bench", [&] {
    return podcache::bench::RunCommand(podcache::bench::ParseOptions(argc, argv));
  });
}
