// podcache-simulate: a trace through a model of a cache. tools/bench simulate drives it.
#include <CLI/CLI.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "tests/benchmark/load/run_main.h"
#include "tests/benchmark/load/trace_options.h"
#include "tests/benchmark/simulate/cache_model.h"

namespace podcache::bench {
namespace {

using Json = nlohmann::ordered_json;

struct Settings {
  std::string model = "segments";
  ModelPlan plan;
  std::uint64_t memory_mb = 64;
  TraceOptions trace;
};

void AddModel(CLI::App& app, Settings& settings) {
  ModelPlan& plan = settings.plan;
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--model", settings.model, "what the trace goes through");
  add("--memory", settings.memory_mb, "megabytes, of records and index")
      ->check(CLI::Range(1, 1 << 20));
  add("--overhead", plan.overhead_bytes, "bytes of a record beside key and value");
  add("--index-bytes", plan.index_bytes, "of an item apart from its record");
  add("--segment-bytes", plan.segment_bytes, "0: as the store would choose");
  add("--small", plan.small_share, "share of the small queue; 0: one queue")
      ->check(CLI::Range(0.0, 0.9));
  add("--promote", plan.promote_uses, "uses in the small queue that lead to main")
      ->check(CLI::Range(1, 3));
  add("--ghost-bits", plan.ghost_bits, "of a fingerprint")->check(CLI::Range(1, 16));
  add("--ghost-ways", plan.ghost_ways, "fingerprints for each seven slots of the index")
      ->check(CLI::Range(0, 64));
  add("--ghost-uses", plan.ghost_uses, "an item with a ghost counts as used so often")
      ->check(CLI::Range(0, 3));
  app.add_flag("--ghosts-to-main", plan.ghosts_to_main, "it is stored in main at once");
  add("--window", plan.window, "oldest main segments of which the coldest goes")
      ->check(CLI::Range(1, 64));
  add("--kept", plan.kept_percent, "of what lives in reclaimed segments at most, per cent")
      ->check(CLI::Range(0, 95));
  app.add_flag("--reset", plan.reset, "uses of a kept item are forgotten");
  app.add_flag("!--no-shifts", plan.watch_shifts, "do not drain main when popularity shifts");
  add("--ttl-classes", plan.ttl_classes,
      "of items that expire, each in segments of its own; 0: none")
      ->check(CLI::Range(0U, kMaxTtlClasses));
  add("--sweep", plan.sweep_seconds, "seconds between looks for expired items; 0: never");
}

int Simulate(Settings settings) {
  settings.plan.capacity_bytes = settings.memory_mb << 20;
  settings.trace.replay.window = 1;  // One request after the other.
  std::ifstream file;
  const std::unique_ptr<Trace> trace = OpenTrace(settings.trace, file);
  const std::unique_ptr<CacheModel> model = NewModel(settings.model, settings.plan);
  Json report = ReportOf(Replay(*trace, *model, settings.trace.replay));
  const ModelFigures figures = model->figures();
  report["items"] = figures.items;
  report["evicted"] = figures.evicted_items;
  report["promoted"] = figures.promoted_items;
  report["ghost_hits"] = figures.ghost_hits;
  report["shifts"] = figures.shifts;
  report["copied_by_set_bytes"] = Share(figures.copied_bytes, figures.set_bytes);
  report["dead_share"] = figures.dead_share;
  report["expired_share"] = figures.expired_share;
  std::puts(report.dump().c_str());
  return 0;
}

int Main(int argc, char** argv) {
  Settings settings;
  settings.trace.generator = "zipf-1.0";
  CLI::App app("Replays a trace through a model of a cache; prints its misses as JSON.");
  app.name("podcache-simulate");
  app.footer(ModelHelp() + GeneratorHelp() + TraceFormatHelp());
  AddModel(app, settings);
  AddTraceOptions(app, settings.trace);
  CLI11_PARSE(app, argc, argv);
  return Simulate(settings);
}

}  // namespace
}  // namespace podcache::bench

int main(int argc, char** argv) {
  return podcache::bench::RunMain("podcache-simulate",
                                  [&] { return podcache::bench::Main(argc, argv); });
}
