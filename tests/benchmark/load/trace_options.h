// Which trace to replay and how, as programs are told on their command lines, and what came of it.
#pragma once

#include <CLI/CLI.hpp>
#include <fstream>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/benchmark/load/replay.h"
#include "tests/benchmark/load/trace.h"

namespace podcache::bench {

struct TraceOptions {
  // A generated trace, or a file (- is standard input) and its format.
  std::string generator;
  GeneratorPlan generate;
  std::string trace_file;
  std::string trace_format;
  ReplayPlan replay;
};

// The options; `options` outlives the parsing.
void AddTraceOptions(CLI::App& command, TraceOptions& options);
// `file` outlives the trace. Throws Failure.
std::unique_ptr<Trace> OpenTrace(const TraceOptions& options, std::ifstream& file);

// 0 of nothing.
double Share(std::uint64_t part, std::uint64_t whole) noexcept;
nlohmann::ordered_json ReportOf(const ReplayResult& result);

}  // namespace podcache::bench
