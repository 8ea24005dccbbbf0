#include "operator/ctl/top.h"

#include <fmt/format.h>

#include <deque>
#include <nlohmann/json.hpp>
#include <ostream>

#include "operator/ctl/admin_connection.h"
#include "operator/ctl/render.h"
#include "podcache/admin/v1/admin.pb.h"

namespace podcache::control {

namespace v1 = admin::v1;

namespace {

constexpr char kClearScreen[] = "\x1b[H\x1b[2J";
constexpr std::size_t kLinesOnScreen = 20;
constexpr int kLinesBetweenHeaders = 20;

TopSample ToSample(const v1::Stats& stats) {
  TopSample sample;
  sample.uptime_seconds =
      static_cast<double>(stats.uptime().seconds()) + stats.uptime().nanos() / 1e9;
  sample.gets = stats.cmd_get();
  sample.hits = stats.get_hits();
  sample.misses = stats.get_misses();
  sample.sets = stats.cmd_set();
  sample.evictions = stats.evictions();
  sample.bytes_read = stats.bytes_read();
  sample.bytes_written = stats.bytes_written();
  sample.items = stats.current_items();
  sample.item_bytes = stats.current_bytes();
  sample.limit_bytes = stats.limit_bytes();
  sample.resident_bytes = stats.resident_memory_bytes();
  sample.connections = stats.current_connections();
  sample.threads = stats.threads();
  return sample;
}

std::string Ratio(double ratio) { return ratio < 0 ? "-" : fmt::format("{:.1f}%", 100 * ratio); }

std::string BytesPerSecond(double bytes) { return ShortBytes(static_cast<std::uint64_t>(bytes)); }

// Redraws a terminal, appends lines elsewhere.
class TopView {
 public:
  TopView(const CtlOptions& options, const Terminal& terminal)
      : options_(options), terminal_(terminal) {}

  void Show(const TopSample& now, const TopRates& rates) {
    if (options_.json) {
      terminal_.out << TopJson(now, rates) << std::flush;
    } else if (terminal_.is_tty && !options_.once) {
      lines_.push_back(TopLine(now, rates));
      if (lines_.size() > kLinesOnScreen) lines_.pop_front();
      terminal_.out << kClearScreen << options_.address << "  up "
                    << ShortDuration(static_cast<std::int64_t>(now.uptime_seconds)) << ", every "
                    << fmt::format("{:g}", static_cast<double>(options_.interval.count()) / 1000)
                    << " s, Ctrl-C ends\n\n"
                    << TopHeader();
      for (const std::string& line : lines_) terminal_.out << line;
      terminal_.out << std::flush;
    } else {
      if (shown_++ % kLinesBetweenHeaders == 0) terminal_.out << TopHeader();
      terminal_.out << TopLine(now, rates) << std::flush;
    }
  }

 private:
  const CtlOptions& options_;
  const Terminal& terminal_;
  std::deque<std::string> lines_;
  int shown_ = 0;
};

}  // namespace

TopRates RatesBetween(const TopSample& before, const TopSample& now, double seconds) {
  const auto grown = [](std::uint64_t from, std::uint64_t to) {
    return static_cast<double>(to >= from ? to - from : to);
  };
  TopRates rates;
  const double hits = grown(before.hits, now.hits);
  const double misses = grown(before.misses, now.misses);
  if (hits + misses > 0) rates.hit_ratio = hits / (hits + misses);
  if (seconds <= 0) return rates;
  rates.gets = grown(before.gets, now.gets) / seconds;
  rates.sets = grown(before.sets, now.sets) / seconds;
  rates.evictions = grown(before.evictions, now.evictions) / seconds;
  rates.read_bytes = grown(before.bytes_read, now.bytes_read) / seconds;
  rates.written_bytes = grown(before.bytes_written, now.bytes_written) / seconds;
  return rates;
}

std::string TopHeader() {
  return fmt::format("{:>10} {:>7} {:>10} {:>9} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>6} {:>7}\n",
                     "GET/s", "HIT", "SET/s", "EVICT/s", "IN/s", "OUT/s", "ITEMS", "USED", "LIMIT",
                     "RSS", "CONNS", "THREADS");
}

std::string TopLine(const TopSample& now, const TopRates& rates) {
  return fmt::format(
      "{:>10.0f} {:>7} {:>10.0f} {:>9.0f} {:>9} {:>9} {:>11} {:>9} {:>9} {:>9} {:>6} {:>7}\n",
      rates.gets, Ratio(rates.hit_ratio), rates.sets, rates.evictions,
      BytesPerSecond(rates.read_bytes), BytesPerSecond(rates.written_bytes), now.items,
      ShortBytes(now.item_bytes), ShortBytes(now.limit_bytes), ShortBytes(now.resident_bytes),
      now.connections, now.threads);
}

std::string TopJson(const TopSample& now, const TopRates& rates) {
  nlohmann::ordered_json line = {{"uptime_seconds", now.uptime_seconds},
                                 {"gets_per_second", rates.gets},
                                 {"hit_ratio", nullptr},
                                 {"sets_per_second", rates.sets},
                                 {"evictions_per_second", rates.evictions},
                                 {"read_bytes_per_second", rates.read_bytes},
                                 {"written_bytes_per_second", rates.written_bytes},
                                 {"items", now.items},
                                 {"item_bytes", now.item_bytes},
                                 {"limit_bytes", now.limit_bytes},
                                 {"resident_memory_bytes", now.resident_bytes},
                                 {"connections", now.connections},
                                 {"threads", now.threads}};
  if (rates.hit_ratio >= 0) line["hit_ratio"] = rates.hit_ratio;
  return line.dump() + "\n";
}

absl::Status RunTop(const CtlOptions& options, AdminConnection& server, const Terminal& terminal,
                    const std::function<double(std::chrono::milliseconds)>& sleep) {
  TopView view(options, terminal);
  TopSample before;
  double seconds = -1;
  for (;;) {
    PODCACHE_ASSIGN_OR_RETURN(const v1::Stats stats, server.GetStats());
    const TopSample now = ToSample(stats);
    view.Show(now, RatesBetween(before, now, seconds < 0 ? now.uptime_seconds : seconds));
    if (options.once) return absl::OkStatus();
    before = now;
    seconds = sleep(options.interval);
    if (!terminal.out.good()) return absl::OkStatus();  // The reader of the pipe is gone.
  }
}

}  // namespace podcache::control
