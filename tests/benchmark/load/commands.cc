#include "tests/benchmark/load/commands.h"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <exception>
#include <fstream>
#include <memory>
#include <mutex>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/cpu_time.h"
#include "tests/benchmark/load/items.h"
#include "tests/benchmark/load/open_loop.h"
#include "tests/benchmark/load/replay.h"
#include "tests/benchmark/load/reply_reader.h"
#include "tests/benchmark/load/request_source.h"
#include "tests/benchmark/load/trace.h"
#include "tests/benchmark/load/traffic.h"

namespace podcache::bench {

namespace {

using Json = nlohmann::ordered_json;
using std::chrono::duration;
using std::chrono::nanoseconds;

// Of fill and count.
constexpr std::uint32_t kEveryItemPipeline = 50;
constexpr std::uint32_t kEveryItemKeysPerGet = 50;
// Of each thread: while 50 connections get 50 keys each, about 30 sets become due.
constexpr std::uint32_t kPacedConnections = 40;

nanoseconds Seconds(double seconds) {
  return std::chrono::duration_cast<nanoseconds>(duration<double>(seconds));
}

std::unique_ptr<ReplyReader> NewReader(const Options& options, const Items& items) {
  return options.check ? NewReplyChecker(items, options.workload.value_bytes) : NewReplyScanner();
}

// Several threads of traffic. The first failure of any of them ends all.
class Crew {
 public:
  explicit Crew(const Options& options) {
    for (std::uint32_t i = 0; i < options.threads; ++i)
      traffic_.push_back(std::make_unique<Traffic>(options.workload.paced_sets));
  }
  ~Crew() {
    Stop();
    JoinThreads();
  }

  std::size_t size() const noexcept { return traffic_.size(); }
  Traffic& operator[](std::size_t i) noexcept { return *traffic_[i]; }
  void Start() {
    for (const std::unique_ptr<Traffic>& traffic : traffic_)
      threads_.emplace_back([this, &traffic] { RunOne(*traffic); });
  }
  void Stop() {
    for (const std::unique_ptr<Traffic>& traffic : traffic_) traffic->Stop();
  }
  // Throws what a thread has thrown.
  void Join() {
    JoinThreads();
    if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
  }
  Totals totals() const {
    Totals sum;
    for (const std::unique_ptr<Traffic>& traffic : traffic_) sum += traffic->totals();
    return sum;
  }
  std::string complaint() const {
    for (const std::unique_ptr<Traffic>& traffic : traffic_) {
      if (const std::string complaint = traffic->complaint(); !complaint.empty()) return complaint;
    }
    return {};
  }

 private:
  void JoinThreads() {
    for (std::thread& thread : threads_) thread.join();
    threads_.clear();
  }
  void RunOne(Traffic& traffic) {
    try {
      traffic.Run();
    } catch (...) {
      const std::lock_guard<std::mutex> lock(mutex_);
      if (!failure_) failure_ = std::current_exception();
      Stop();
    }
  }

  std::vector<std::unique_ptr<Traffic>> traffic_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::exception_ptr failure_;
};

int Report(Json report, std::uint64_t errors, const std::string& complaint) {
  report["errors"] = errors;
  if (!complaint.empty()) report["complaint"] = complaint;
  std::puts(report.dump(-1, ' ', true, Json::error_handler_t::replace).c_str());
  return errors == 0 ? 0 : 1;
}

int EveryItem(const Options& options, const Items& items) {
  const bool fill = options.command == Command::kFill;
  const RequestShape request =
      fill ? RequestShape{Verb::kSet, 1} : RequestShape{Verb::kGet, kEveryItemKeysPerGet};
  const std::uint32_t pipeline = fill ? kEveryItemPipeline : 1;
  const std::uint64_t shares = options.workload.connections;
  Crew crew(options);
  for (std::uint64_t i = 0; i < shares; ++i) {
    const std::uint64_t first = options.keys * i / shares;
    const std::uint64_t end = options.keys * (i + 1) / shares;
    if (first == end) continue;
    crew[i % crew.size()].Add(
        options.address,
        std::make_unique<EveryItemSource>(items, request, pipeline, options.workload.value_bytes,
                                          first, end),
        NewReader(options, items));
  }
  const SystemClock clock;
  const nanoseconds start = clock.MonotonicNow();
  crew.Start();
  crew.Join();
  const Totals totals = crew.totals();
  Json report;
  report["seconds"] = duration<double>(clock.MonotonicNow() - start).count();
  report["keys"] = options.keys;
  report[fill ? "stored" : "found"] = fill ? totals.sets - totals.errors : totals.keys_found;
  return Report(std::move(report), totals.errors, crew.complaint());
}

// One for each connection: its number decides its random numbers and where its cycle begins.
std::unique_ptr<RequestSource> NewSource(const Options& options, const Items& items,
                                         const Workload& workload, std::uint32_t number) {
  ItemPicker picker(options.keys, options.zipf, Mix(options.seed) + number);
  return std::make_unique<CycleSource>(items, workload, std::move(picker), number);
}

void AddWorkload(const Options& options, const Items& items, Crew& crew) {
  const Workload& workload = options.workload;
  for (std::uint32_t i = 0; i < workload.connections; ++i) {
    crew[i % crew.size()].Add(options.address, NewSource(options, items, workload, i),
                              NewReader(options, items));
  }
  if (workload.paced_sets == 0) return;
  Workload sets = workload;
  sets.sets = 1;
  sets.gets = 0;
  sets.pipeline = 1;
  for (std::uint32_t i = 0; i < kPacedConnections * crew.size(); ++i) {
    crew[i % crew.size()].Add(options.address,
                              NewSource(options, items, sets, workload.connections + i),
                              NewReader(options, items), true);
  }
}

struct Moment {
  nanoseconds time;
  Totals totals;
  CpuTime server;
  CpuTime client;
};

int Load(const Options& options, const Items& items) {
  Crew crew(options);
  AddWorkload(options, items, crew);
  const SystemClock clock;
  const auto look = [&] {
    Moment moment;
    moment.totals = crew.totals();
    if (options.server_pid != 0) moment.server = ReadCpuTime(options.server_pid);
    moment.client = ReadCpuTime(::getpid());
    moment.time = clock.MonotonicNow();
    return moment;
  };
  crew.Start();
  std::this_thread::sleep_for(Seconds(options.warm_up_seconds));
  const Moment begin = look();
  std::this_thread::sleep_for(Seconds(options.seconds));
  const Moment end = look();
  crew.Stop();
  crew.Join();
  const Totals measured = end.totals - begin.totals;
  const Totals all = crew.totals();
  Json report;
  report["workload"] = options.workload.name;
  report["pipeline"] = options.workload.pipeline;
  report["seconds"] = duration<double>(end.time - begin.time).count();
  report["operations"] = measured.operations();
  report["requests"] = measured.requests;
  report["sets"] = measured.sets;
  if (options.server_pid != 0) {
    report["server_user_us"] = end.server.user_us - begin.server.user_us;
    report["server_system_us"] = end.server.system_us - begin.server.system_us;
  }
  report["client_us"] =
      end.client.user_us + end.client.system_us - begin.client.user_us - begin.client.system_us;
  // Of the whole run, not of the measured part.
  report["gets"] = all.keys_asked;
  report["hits"] = all.keys_found;
  return Report(std::move(report), all.errors, crew.complaint());
}

Json Percentiles(const Histogram& histogram) {
  const auto us = [](double ns) { return ns / 1e3; };
  Json json;
  json["mean"] = us(histogram.MeanNs());
  for (const auto& [name, percentile] :
       {std::pair("p50", 50.0), {"p90", 90.0}, {"p99", 99.0}, {"p99.9", 99.9}, {"p99.99", 99.99}})
    json[name] = us(static_cast<double>(histogram.PercentileNs(percentile)));
  json["max"] = us(static_cast<double>(histogram.max_ns()));
  return json;
}

int Latency(const Options& options, const Items& items) {
  const Workload& workload = options.workload;
  if (workload.paced_sets > 0) throw Failure("sets paced by gets have no rate of their own");
  const SystemClock clock;
  OpenLoop loop(clock);
  for (std::uint32_t i = 0; i < workload.connections; ++i)
    loop.Add(options.address, NewSource(options, items, workload, i), NewReader(options, items));
  OpenLoopPlan plan;
  plan.batches_per_second = options.requests_per_second / workload.pipeline;
  plan.warm_up = Seconds(options.warm_up_seconds);
  plan.duration = Seconds(options.seconds);
  plan.seed = options.seed;
  const OpenLoopResult result = loop.Run(plan);
  Json report;
  report["workload"] = workload.name;
  report["pipeline"] = workload.pipeline;
  report["rate"] = options.requests_per_second;
  report["requests"] = result.latency.count();
  report["latency_us"] = Percentiles(result.latency);
  report["unanswered"] = result.unanswered;
  if (!options.histogram_file.empty()) {
    std::ofstream file(options.histogram_file);
    file << result.latency.PercentileText();
    if (!file.flush()) throw Failure("cannot write " + options.histogram_file);
  }
  return Report(std::move(report), result.errors + result.unanswered, result.complaint);
}

int ReplayTrace(const Options& options) {
  std::ifstream file;
  const std::unique_ptr<Trace> trace = OpenTrace(options.trace, file);
  const ReplayPlan& plan = options.trace.replay;
  WireCache cache(options.address, plan.max_value_bytes, plan.time_scale);
  Json report = ReportOf(Replay(*trace, cache, plan));
  report["refused"] = cache.refused();
  return Report(std::move(report), 0, {});
}

}  // namespace

int RunCommand(const Options& options) {
  const Items items(options.key_bytes, options.workload.value_bytes);
  switch (options.command) {
    case Command::kFill:
    case Command::kCount:
      return EveryItem(options, items);
    case Command::kLoad:
      return Load(options, items);
    case Command::kLatency:
      return Latency(options, items);
    case Command::kReplay:
      return ReplayTrace(options);
  }
  return 1;
}

}  // namespace podcache::bench
