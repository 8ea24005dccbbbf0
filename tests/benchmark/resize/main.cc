// podcache-resize: changes the memory of a store under load and says how long that took, what CPU
// the background thread spent, and how long the longest operations of the load were. Without
// protocol and sockets: what is left is the engine's.
//
// tools/bench resize runs it beside the same over the wire.
#include <time.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <chrono>
#include <exception>
#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/run_main.h"
#include "tests/benchmark/resize/op_timer.h"
#include "tests/benchmark/resize/user.h"

namespace podcache::bench {
namespace {

using Json = nlohmann::ordered_json;
using Seconds = std::chrono::duration<double>;

struct Settings {
  std::uint64_t large_mb = 4096;
  std::uint64_t small_mb = 1024;
  std::size_t value_bytes = 128;
  int threads = 1;
  double rate = 0;
  double seconds = 4;
  double used = 0;
  double set_share = 0.1;
};

// RSS counts as reached so far above the target.
constexpr double kWithin = 1.02;
constexpr auto kPoll = std::chrono::milliseconds(2);

double CpuSeconds(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

std::uint64_t ResidentBytes() {
  std::ifstream statm("/proc/self/statm");
  std::uint64_t all = 0;
  std::uint64_t resident = 0;
  statm >> all >> resident;
  return resident * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
}

class Benchmark {
 public:
  explicit Benchmark(const Settings& settings) : settings_(settings), store_(Options(), clock_) {}

  Json Run() {
    Fill();
    Use();
    Json report;
    report["items"] = store_.stats().items;
    report["quiet"] = Phase(std::nullopt, settings_.set_share);
    report["shrink"] = Phase(settings_.small_mb, settings_.set_share);
    CountUsed(report["shrink"]);
    report["quiet_small"] = Phase(std::nullopt, settings_.set_share);
    // What is new fills the memory that has been added.
    report["grow"] = Phase(settings_.large_mb, 1);
    return report;
  }

 private:
  store::StoreOptions Options() const {
    store::StoreOptions options;
    options.memory_limit_bytes = settings_.large_mb << 20;
    return options;
  }
  bool IsUsed(std::uint64_t item) const {
    return static_cast<double>(Mix(item) >> 11) * 0x1.0p-53 < settings_.used;
  }
  void Fill() {
    StoreUser user(store_, settings_.value_bytes);
    const std::uint64_t enough = (settings_.large_mb << 20) / (20 + settings_.value_bytes);
    while (next_item_ < enough || store_.stats().evicted_items == 0) user.Set(next_item_++);
    first_item_ = next_item_ - store_.stats().items;
  }
  void Use() {
    StoreUser user(store_, settings_.value_bytes);
    for (std::uint64_t item = first_item_; item < next_item_;) {
      user.Get([&] {
        while (item < next_item_ && !IsUsed(item)) ++item;
        return item++;
      });
    }
  }
  void CountUsed(Json& report) {
    StoreUser user(store_, settings_.value_bytes);
    std::uint64_t used = 0;
    std::uint64_t kept = 0;
    for (std::uint64_t item = first_item_; item < next_item_; item += 16) {
      if (!IsUsed(item)) continue;
      ++used;
      if (user.Has(item)) ++kept;
    }
    report["used_items_kept"] =
        used == 0 ? 0 : static_cast<double>(kept) / static_cast<double>(used);
  }

  // The load of one thread until `stop_`.
  void Work(std::uint64_t seed, double set_share, OpTimer& timer, double& cpu_seconds) {
    StoreUser user(store_, settings_.value_bytes);
    Random random(seed);
    const double start = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    auto due = std::chrono::steady_clock::now();
    while (!stop_.load(std::memory_order_relaxed)) {
      if (settings_.rate > 0) {
        due += std::chrono::duration_cast<std::chrono::nanoseconds>(Seconds(1 / settings_.rate));
        std::this_thread::sleep_until(due);
      }
      if (random.Unit() < set_share) {
        const std::uint64_t item =
            set_share < 1 ? random.Below(next_item_) : fresh_item_.fetch_add(1);
        timer.Time([&] { user.Set(item); });
      } else {
        timer.Time([&] { user.Get([&] { return random.Below(next_item_); }); });
      }
    }
    cpu_seconds = CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - start;
  }

  // `target_mb`: asked for at the beginning.
  Json Phase(std::optional<std::uint64_t> target_mb, double set_share) {
    stop_ = false;
    const auto threads = static_cast<std::size_t>(settings_.threads);
    std::vector<OpTimer> timers(threads);
    std::vector<double> worker_cpu(threads);
    std::vector<std::thread> workers;
    const std::uint64_t direct = store_.stats().direct_reclaims;
    const double process_cpu = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID);
    const double own_cpu = CpuSeconds(CLOCK_THREAD_CPUTIME_ID);
    for (std::size_t i = 0; i < threads; ++i) {
      workers.emplace_back(
          [&, i] { Work(++phase_ * 100 + i, set_share, timers[i], worker_cpu[i]); });
    }
    Json report;
    const auto start = std::chrono::steady_clock::now();
    const auto since = [&] { return Seconds(std::chrono::steady_clock::now() - start).count(); };
    if (target_mb && !store_.SetMemoryTarget(*target_mb << 20)) throw Failure("target refused");
    bool within = !target_mb;
    bool in_force = !target_mb;
    while (since() < settings_.seconds || ((!within || !in_force) && since() < kPatience)) {
      std::this_thread::sleep_for(kPoll);
      if (!in_force && !store_.resize_state().in_progress) {
        in_force = true;
        report["in_force_seconds"] = since();
      }
      const double most = static_cast<double>(target_mb.value_or(0) << 20) * kWithin;
      if (!within && static_cast<double>(ResidentBytes()) <= most) {
        within = true;
        report["resident_seconds"] = since();
        report["background_cpu_seconds_until_then"] =
            CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - process_cpu;
      }
    }
    stop_ = true;
    for (std::thread& worker : workers) worker.join();
    double background = CpuSeconds(CLOCK_PROCESS_CPUTIME_ID) - process_cpu -
                        (CpuSeconds(CLOCK_THREAD_CPUTIME_ID) - own_cpu);
    for (const double cpu : worker_cpu) background -= cpu;
    OpTimer all;
    for (const OpTimer& timer : timers) all.Merge(timer);
    report["background_cpu_seconds"] = background;
    report["resident_mb"] = ResidentBytes() >> 20;
    report["items"] = store_.stats().items;
    report["direct_reclaims"] = store_.stats().direct_reclaims - direct;
    report["operations"] = all.all().count();
    for (const auto& [name, percentile] :
         {std::pair("p50_us", 50.0), {"p99_us", 99.0}, {"p99.9_us", 99.9}, {"p99.99_us", 99.99}})
      report[name] = Us(all.all().PercentileNs(percentile));
    report["longest_us"] = Us(all.all().max_ns());
    report["longest_uninterrupted_us"] = Us(all.longest_on_cpu_ns());
    return report;
  }
  static double Us(std::uint64_t ns) { return static_cast<double>(ns) / 1000; }

  class Failure : public std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  static constexpr double kPatience = 60;

  const Settings settings_;
  const SystemClock clock_;
  store::Store store_;
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> phase_{0};
  std::uint64_t first_item_ = 0;
  std::uint64_t next_item_ = 0;
  std::atomic<std::uint64_t> fresh_item_{1'000'000'000};
};

int Main(int argc, char** argv) {
  Settings settings;
  CLI::App app("Changes the memory of a store under load; prints how that went as JSON.");
  app.name("podcache-resize");
  const auto add = [&app](const char* name, auto& value, const char* help) {
    return app.add_option(name, value, help)->capture_default_str();
  };
  add("--memory", settings.large_mb, "megabytes to begin with");
  add("--to", settings.small_mb, "megabytes after the shrink");
  add("--value-bytes", settings.value_bytes, "of a value");
  add("--threads", settings.threads, "that use the store")->check(CLI::Range(1, 64));
  add("--rate", settings.rate, "operations a second of each thread; 0: as many as it can");
  add("--seconds", settings.seconds, "of each phase, at least");
  add("--used", settings.used, "share of the items that are read once before the shrink")
      ->check(CLI::Range(0.0, 1.0));
  add("--sets", settings.set_share, "share of sets; else batches of 16 gets")
      ->check(CLI::Range(0.0, 1.0));
  CLI11_PARSE(app, argc, argv);
  std::puts(Benchmark(settings).Run().dump(2).c_str());
  return 0;
}

}  // namespace
}  // namespace podcache::bench

int main(int argc, char** argv) {
  return podcache::bench::RunMain("podcache-resize",
                                  [&] { return podcache::bench::Main(argc, argv); });
}
