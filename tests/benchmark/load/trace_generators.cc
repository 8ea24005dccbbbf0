#include <algorithm>
#include <cmath>
#include <utility>

#include "tests/benchmark/load/client_socket.h"
#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/trace.h"
#include "tests/benchmark/load/zipf.h"

namespace podcache::bench {

namespace {

// What a generated trace is made of; all of them are zipf at heart.
struct Mixture {
  std::string_view name;
  std::string_view help;
  double zipf = 1.0;
  bool small = false;  // Values of 2 … 30 bytes; otherwise their median is 230.
  double scan = 0;     // Share of requests that read keys one after the other, once.
  double loop = 0;     // Share of requests that go round and round a tenth of the keys.
  double sets = 0;     // Share of requests that overwrite.
  double churn = 0;    // The popular keys are others after this share of the trace.
  double churned = 1;  // Share of the keys that this concerns.
  double flash = 0;    // Share of requests to some new keys, in a tenth of each tenth of the trace.
  double size_growth = 1;  // Values at the end, by those at the beginning.
  bool ttl = false;        // A mixture of times to live from ten seconds to a day.
};

constexpr Mixture kMixtures[] = {
    {.name = "zipf-0.7", .help = "popularity by rank^-0.7, sizes around 230 bytes", .zipf = 0.7},
    {.name = "zipf-0.9", .help = "by rank^-0.9", .zipf = 0.9},
    {.name = "zipf-1.0", .help = "by rank^-1", .zipf = 1.0},
    {.name = "zipf-1.1", .help = "by rank^-1.1", .zipf = 1.1},
    {.name = "small", .help = "by rank^-1, values of 2 to 30 bytes", .small = true},
    {.name = "churn", .help = "other keys become popular, four times over", .churn = 0.25},
    {.name = "turnover",
     .help = "a fifth of all keys are replaced by others, four times over",
     .churn = 0.25,
     .churned = 0.2},
    {.name = "flash",
     .help = "now and then a tenth are of some new keys, for a short while",
     .flash = 0.1},
    {.name = "scan",
     .help = "a fifth are keys that are read once, one after the other",
     .scan = 0.2},
    {.name = "loop",
     .help = "three tenths go round a tenth of all keys, as block traces do",
     .loop = 0.3},
    {.name = "writes", .help = "35 % overwrite", .zipf = 0.9, .sets = 0.35},
    {.name = "drift", .help = "values become four times as large", .size_growth = 4},
    {.name = "ttl", .help = "items live from ten seconds to a day", .ttl = true},
};

class Generator final : public Trace {
 public:
  Generator(const Mixture& mixture, const GeneratorPlan& plan)
      : mixture_(mixture), plan_(plan), zipf_(plan.keys, mixture.zipf), random_(plan.seed) {}

  bool Next(TraceRequest& request) override {
    if (made_ == plan_.requests) return false;
    const double done = static_cast<double>(made_) / static_cast<double>(plan_.requests);
    request = {};
    request.key = NextKey(done);
    const std::uint64_t look = Mix(request.key ^ kLooks);
    request.key_bytes = 16 + static_cast<std::uint32_t>(look % 25);
    request.value_bytes = ValueBytes(look, done);
    if (mixture_.ttl) request.ttl_seconds = Ttl(look);
    if (mixture_.sets > 0 && random_.Unit() < mixture_.sets) request.verb = TraceVerb::kSet;
    constexpr double kRequestsPerSecond = 1000;
    request.seconds = static_cast<double>(made_) / kRequestsPerSecond;
    ++made_;
    return true;
  }

 private:
  // So that sizes have nothing to do with popularity.
  static constexpr std::uint64_t kLooks = 0x5bd1e9955bd1e995ULL;
  static constexpr std::uint64_t kScanned = std::uint64_t{1} << 40;
  static constexpr std::uint64_t kFlashKeys = 20'000;

  std::uint64_t NextKey(double done) {
    const double kind = random_.Unit();
    if (kind < mixture_.scan) return kScanned + scanned_++;
    if (kind < mixture_.scan + mixture_.loop)
      return kScanned + looped_++ % std::max<std::uint64_t>(plan_.keys / 10, 1);
    const double tenths = done * 10;
    if (kind < mixture_.flash && tenths - std::floor(tenths) > 0.9)
      return kScanned + plan_.keys * static_cast<std::uint64_t>(tenths) + random_.Below(kFlashKeys);
    std::uint64_t key = zipf_.Next(random_);
    const bool stays = static_cast<double>(Mix(key) % 1000) >= 1000 * mixture_.churned;
    if (mixture_.churn > 0 && !stays)
      key += plan_.keys * static_cast<std::uint64_t>(done / mixture_.churn);
    return key;
  }

  std::uint32_t ValueBytes(std::uint64_t look, double done) const {
    if (mixture_.small) return 2 + static_cast<std::uint32_t>(Mix(look) % 29);
    // Log-normal around 230 bytes, Twitter's median object, by the sum of uniform numbers.
    double normal = -6;
    for (std::uint64_t i = 0; i < 12; ++i)
      normal += static_cast<double>(Mix(look + i) >> 11) * 0x1.0p-53;
    const double growth = 1 + (mixture_.size_growth - 1) * done;
    return static_cast<std::uint32_t>(
        std::clamp(230 * std::exp(normal) * growth, 8.0, 16.0 * 1024));
  }

  static std::uint32_t Ttl(std::uint64_t look) {
    constexpr std::uint32_t kTtls[] = {10, 60, 300, 3600, 86400};
    return kTtls[Mix(look + 99) % std::size(kTtls)];
  }

  const Mixture mixture_;
  const GeneratorPlan plan_;
  const Zipf zipf_;
  Random random_;
  std::uint64_t made_ = 0;
  std::uint64_t scanned_ = 0;
  std::uint64_t looped_ = 0;
};

}  // namespace

std::string GeneratorHelp() {
  std::string text = "Generated traces:\n";
  for (const Mixture& mixture : kMixtures) {
    std::string name(mixture.name);
    name.resize(16, ' ');
    text += "  " + name + std::string(mixture.help) + "\n";
  }
  return text;
}

std::unique_ptr<Trace> NewGenerator(std::string_view name, const GeneratorPlan& plan) {
  for (const Mixture& mixture : kMixtures) {
    if (mixture.name == name) return std::make_unique<Generator>(mixture, plan);
  }
  throw Failure("no generated trace is called " + std::string(name));
}

}  // namespace podcache::bench
