#include "tests/benchmark/load/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>

#include "tests/benchmark/load/items.h"

namespace podcache::bench {

namespace {

constexpr std::size_t kMaxKeyBytes = 250;
constexpr std::uint64_t kMaxItems = 9'999'999'999;  // What fits in the digits of a key.

// What replaces a number of the workload.
struct Overrides {
  std::string name = "memtier-1-10";
  std::optional<std::uint32_t> pipeline;
  std::optional<std::uint32_t> connections;
  std::optional<std::size_t> value_bytes;
};

std::string WorkloadHelp() {
  std::string text = "Workloads; NAME:N takes another pipeline:\n";
  for (const Workload& workload : Workloads()) {
    std::string name(workload.name);
    name.resize(16, ' ');
    text += "  " + name + std::string(workload.help) + ", pipeline " +
            std::to_string(workload.pipeline) + "\n";
  }
  return text;
}

void AddCommon(CLI::App& command, Options& options, Overrides& overrides) {
  command.add_option("--address", options.address, "host:port or unix:/path")
      ->capture_default_str();
  command.add_option("--workload", overrides.name, "shape of the load")->capture_default_str();
  command.add_option("--pipeline", overrides.pipeline, "requests in flight on a connection")
      ->check(CLI::Range(1U, 10'000U));
  command.add_option("--connections", overrides.connections, "connections of all threads")
      ->check(CLI::Range(1U, 100'000U));
  command.add_option("--value-bytes", overrides.value_bytes, "bytes of each value")
      ->check(CLI::Range(std::size_t{0}, std::size_t{1} << 30));
  command.add_option("--keys", options.keys, "number of different keys")
      ->check(CLI::Range(std::uint64_t{1}, kMaxItems))
      ->capture_default_str();
  command.add_option("--key-bytes", options.key_bytes, "bytes of each key")
      ->check(CLI::Range(Items::kDigits + 1, kMaxKeyBytes))
      ->capture_default_str();
  command.add_option("--threads", options.threads, "threads of this program")
      ->check(CLI::Range(1U, 64U))
      ->capture_default_str();
  command.add_option("--seed", options.seed, "of the random numbers")->capture_default_str();
  command.add_flag("--check", options.check, "compare every reply and value with what it must be");
}

void AddTimed(CLI::App& command, Options& options) {
  command.add_option("--zipf", options.zipf, "exponent of the keys' popularity; 0: all alike")
      ->check(CLI::Range(0.0, 3.0))
      ->capture_default_str();
  command.add_option("--warm-up", options.warm_up_seconds, "seconds before measuring")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  command.add_option("--seconds", options.seconds, "how long to measure")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
}

void AddReplay(CLI::App& command, Options& options) {
  command.footer(GeneratorHelp() + TraceFormatHelp());
  command.add_option("--address", options.address, "host:port or unix:/path")
      ->capture_default_str();
  AddTraceOptions(command, options.trace);
  command.add_option("--window", options.trace.replay.window, "different keys asked for together")
      ->check(CLI::Range(1U, 1000U))
      ->capture_default_str();
  command
      .add_option("--max-value-bytes", options.trace.replay.max_value_bytes,
                  "larger values are cut to this")
      ->check(CLI::Range(1U, 1U << 30))
      ->capture_default_str();
  command
      .add_option("--time-scale", options.trace.replay.time_scale,
                  "seconds of the trace in one, also of times to live; 0: as fast as possible, "
                  "nothing expires")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
}

void Apply(const Overrides& overrides, Options& options) {
  const std::optional<Workload> workload = FindWorkload(overrides.name);
  if (!workload)
    throw CLI::ValidationError("--workload", "there is none called \"" + overrides.name + "\"");
  options.workload = *workload;
  if (overrides.pipeline) options.workload.pipeline = *overrides.pipeline;
  if (overrides.connections) options.workload.connections = *overrides.connections;
  if (overrides.value_bytes) options.workload.value_bytes = *overrides.value_bytes;
}

}  // namespace

Options ParseOptions(int argc, char** argv) {
  Options options;
  Overrides overrides;
  CLI::App app("Load for servers of memcached's text protocol; prints what it measured as JSON.");
  app.name("podcache-bench");
  app.footer(WorkloadHelp());
  app.require_subcommand(1);
  const auto add = [&](Command value, const char* name, const char* help) {
    CLI::App* const command = app.add_subcommand(name, help);
    command->callback([&options, value] { options.command = value; });
    AddCommon(*command, options, overrides);
    return command;
  };
  add(Command::kFill, "fill", "store every key once");
  add(Command::kCount, "count", "get every key once and count those that are there");
  CLI::App* const load = add(Command::kLoad, "load", "as much as the server can answer");
  AddTimed(*load, options);
  load->add_option("--server-pid", options.server_pid, "process whose CPU time is taken")
      ->check(CLI::PositiveNumber);
  CLI::App* const latency = add(Command::kLatency, "latency", "a fixed rate, timed from when due");
  AddTimed(*latency, options);
  latency->add_option("--rate", options.requests_per_second, "requests a second")
      ->required()
      ->check(CLI::PositiveNumber);
  latency->add_option("--histogram", options.histogram_file, "write all percentiles to this file");
  CLI::App* const replay =
      app.add_subcommand("replay", "a trace as an application would use a cache: hit ratio");
  replay->callback([&options] { options.command = Command::kReplay; });
  AddReplay(*replay, options);
  try {
    app.parse(argc, argv);
    Apply(overrides, options);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return options;
}

}  // namespace podcache::bench
