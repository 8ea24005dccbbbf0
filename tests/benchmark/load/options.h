// The command line of podcache-bench.
#pragma once

#include <cstdint>
#include <string>

#include "tests/benchmark/load/trace_options.h"
#include "tests/benchmark/load/workload.h"

namespace podcache::bench {

enum class Command : std::uint8_t { kFill, kCount, kLoad, kLatency, kReplay };

struct Options {
  Command command = Command::kLoad;
  std::string address = "127.0.0.1:11211";
  Workload workload;  // With what was given beside its name.
  std::uint64_t keys = 100'000;
  std::size_t key_bytes = 16;
  double zipf = 0;
  std::uint32_t threads = 1;
  std::uint64_t seed = 1;
  double warm_up_seconds = 0.5;
  double seconds = 3;
  int server_pid = 0;
  bool check = false;
  // Of kLatency.
  double requests_per_second = 0;
  std::string histogram_file;
  TraceOptions trace;  // Of kReplay.
};

// Prints help, or what is wrong, and ends the program where that is all there is to do.
Options ParseOptions(int argc, char** argv);

}  // namespace podcache::bench
