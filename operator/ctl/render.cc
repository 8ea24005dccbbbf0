#include "operator/ctl/render.h"

#include <fmt/format.h>
#include <google/protobuf/util/time_util.h>

#include <algorithm>
#include <array>

#include "podcache/admin/v1/admin.pb.h"

namespace podcache::control {

namespace v1 = admin::v1;
using google::protobuf::util::TimeUtil;

namespace {

std::string OrNone(std::uint64_t bytes) { return bytes == 0 ? "none" : ShortBytes(bytes); }

std::string Sizing(const v1::SizingChoice& sizing) {
  const std::string overhead = fmt::format("overhead {} % + {}", sizing.overhead_percent(),
                                           ShortBytes(sizing.overhead_fixed_bytes()));
  switch (sizing.source()) {
    case v1::SizingChoice::EXPLICIT:
      return "given on the command line; " + overhead;
    case v1::SizingChoice::RULE:
      return "rule " + sizing.rule_name() + "; " + overhead;
    case v1::SizingChoice::NO_MATCH:
      return "no rule matched, safe default; " + overhead;
    case v1::SizingChoice::CGROUP:
      return "from the cgroup; " + overhead;
    default:
      return "unknown";
  }
}

std::string Ratio(std::uint64_t part, std::uint64_t rest) {
  if (part + rest == 0) return "-";
  return fmt::format("{:.2f} %",
                     100.0 * static_cast<double>(part) / static_cast<double>(part + rest));
}

std::string MemoryText(const v1::Memory& memory) {
  const std::string limit = ShortBytes(memory.limit_bytes());
  if (memory.limit_bytes() == memory.target_bytes()) return limit;
  return limit + ", on its way to " + ShortBytes(memory.target_bytes());
}

std::string ThreadsText(const v1::Threads& threads) {
  if (threads.running() == threads.target()) return std::to_string(threads.running());
  return fmt::format("{}, on their way to {}", threads.running(), threads.target());
}

}  // namespace

std::string ShortBytes(std::uint64_t bytes) {
  static constexpr std::array<const char*, 5> kUnits = {"", "Ki", "Mi", "Gi", "Ti"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  while (value >= 1024 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  const bool whole = value == static_cast<double>(static_cast<std::uint64_t>(value));
  return whole ? fmt::format("{:.0f}{}", value, kUnits[unit])
               : fmt::format("{:.1f}{}", value, kUnits[unit]);
}

std::string ShortDuration(std::int64_t seconds) {
  if (seconds >= 86400) return fmt::format("{}d {}h", seconds / 86400, seconds % 86400 / 3600);
  if (seconds >= 3600) return fmt::format("{}h {}m", seconds / 3600, seconds % 3600 / 60);
  if (seconds >= 60) return fmt::format("{}m {}s", seconds / 60, seconds % 60);
  return fmt::format("{}s", seconds);
}

std::string Columns(const std::vector<std::pair<std::string, std::string>>& rows) {
  std::size_t width = 0;
  for (const auto& row : rows) width = std::max(width, row.first.size());
  std::string text;
  for (const auto& [name, value] : rows) text += fmt::format("{:<{}}  {}\n", name, width, value);
  return text;
}

std::string RenderInfo(const v1::ServerInfo& info) {
  const v1::Config& config = info.config();
  return Columns({
      {"version", info.version() + " (" + info.revision() + ")"},
      {"machine", fmt::format("{}, pages of {}, {} CPUs", info.architecture(),
                              ShortBytes(info.page_size_bytes()), info.usable_cpus())},
      {"uptime",
       ShortDuration(info.uptime().seconds()) + ", since " + TimeUtil::ToString(info.start_time())},
      {"memory limit", MemoryText(config.memory())},
      {"resident memory", ShortBytes(info.resident_memory_bytes())},
      {"threads", ThreadsText(config.threads())},
      {"cgroup memory",
       fmt::format("limit {}, used {} (v{})", OrNone(info.cgroup_memory_limit_bytes()),
                   ShortBytes(info.cgroup_memory_usage_bytes()), info.cgroup_version())},
      {"cgroup CPU quota", info.cgroup_cpu_quota_cores() > 0
                               ? fmt::format("{:g} cores", info.cgroup_cpu_quota_cores())
                               : "none"},
      {"sizing", Sizing(info.sizing())},
      {"max connections", std::to_string(config.max_connections())},
      {"max item size", ShortBytes(config.max_item_size_bytes())},
      {"configuration", info.config_hash().empty() ? "not injected" : info.config_hash()},
      {"process", std::to_string(info.pid())},
  });
}

std::string RenderStats(const v1::Stats& stats) {
  return Columns({
      {"items", std::to_string(stats.current_items())},
      {"items stored since start", std::to_string(stats.total_items())},
      {"bytes of items",
       fmt::format("{} of {}", ShortBytes(stats.current_bytes()), ShortBytes(stats.limit_bytes()))},
      {"resident memory", ShortBytes(stats.resident_memory_bytes())},
      {"gets", std::to_string(stats.cmd_get())},
      {"hits", std::to_string(stats.get_hits())},
      {"misses", std::to_string(stats.get_misses())},
      {"hit ratio", Ratio(stats.get_hits(), stats.get_misses())},
      {"sets", std::to_string(stats.cmd_set())},
      {"evictions", std::to_string(stats.evictions())},
      {"expired unfetched", std::to_string(stats.expired_unfetched())},
      {"reclaimed", std::to_string(stats.reclaimed())},
      {"connections", std::to_string(stats.current_connections())},
      {"connections since start", std::to_string(stats.total_connections())},
      {"connections rejected", std::to_string(stats.rejected_connections())},
      {"bytes read", ShortBytes(stats.bytes_read())},
      {"bytes written", ShortBytes(stats.bytes_written())},
      {"threads", std::to_string(stats.threads())},
      {"uptime", ShortDuration(stats.uptime().seconds())},
  });
}

std::string RenderMemory(const v1::Config& config) { return MemoryText(config.memory()) + "\n"; }
std::string RenderThreads(const v1::Config& config) { return ThreadsText(config.threads()) + "\n"; }

std::string RenderProgress(const v1::ResizeProgress& progress) {
  const char* state = progress.state() == v1::ResizeProgress::GROWING     ? "growing"
                      : progress.state() == v1::ResizeProgress::SHRINKING ? "shrinking"
                                                                          : "settled";
  return fmt::format("{:<9}  limit {} → {}  resident {}  evicted {}  threads {} → {}", state,
                     ShortBytes(progress.memory_limit_bytes()),
                     ShortBytes(progress.memory_target_bytes()),
                     ShortBytes(progress.resident_memory_bytes()), progress.items_evicted(),
                     progress.threads_running(), progress.threads_target());
}

}  // namespace podcache::control
