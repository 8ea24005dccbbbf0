#include "tests/benchmark/load/trace_options.h"

#include <iostream>

#include "tests/benchmark/load/client_socket.h"

namespace podcache::bench {

void AddTraceOptions(CLI::App& command, TraceOptions& options) {
  CLI::Option* const generate =
      command.add_option("--generate", options.generator, "name of a generated trace")
          ->capture_default_str();
  command.add_option("--requests", options.generate.requests, "of a generated trace")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--keys", options.generate.keys, "of a generated trace")
      ->check(CLI::PositiveNumber)
      ->capture_default_str();
  command.add_option("--seed", options.generate.seed, "of a generated trace")
      ->capture_default_str();
  CLI::Option* const format = command.add_option("--format", options.trace_format, "of the trace");
  command.add_option("--trace", options.trace_file, "file with a trace; -: standard input")
      ->needs(format)
      ->excludes(generate);
  command.add_option("--limit", options.replay.limit, "requests to replay at most")
      ->check(CLI::PositiveNumber);
  command.add_option("--skip", options.replay.skip, "requests at the beginning not counted")
      ->capture_default_str();
}

std::unique_ptr<Trace> OpenTrace(const TraceOptions& options, std::ifstream& file) {
  if (options.trace_file.empty()) return NewGenerator(options.generator, options.generate);
  const bool standard_input = options.trace_file == "-";
  if (!standard_input) file.open(options.trace_file, std::ios::binary);
  if (!file) throw Failure("cannot read " + options.trace_file);
  return OpenTrace(options.trace_format, standard_input ? std::cin : file);
}

double Share(std::uint64_t part, std::uint64_t whole) noexcept {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

nlohmann::ordered_json ReportOf(const ReplayResult& result) {
  nlohmann::ordered_json report;
  report["requests"] = result.requests;
  report["gets"] = result.gets;
  report["misses"] = result.misses;
  report["miss_ratio"] = Share(result.misses, result.gets);
  report["byte_miss_ratio"] = Share(result.missed_bytes, result.bytes);
  return report;
}

}  // namespace podcache::bench
