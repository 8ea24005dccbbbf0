#include "server/command/detail_command.h"

#include <optional>
#include <string>

#include "server/protocol/dump_lines.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::Reply;

namespace {

class DetailDump final : public LongReply {
 public:
  explicit DetailDump(const PrefixStats& prefixes) : prefixes_(prefixes) {}

  bool Continue(OutputBuffer& output) override {
    constexpr std::size_t kLinesPerStep = 64;
    const std::vector<PrefixStats::Line> lines =
        prefixes_.Lines(last_ ? &*last_ : nullptr, kLinesPerStep);
    for (const PrefixStats::Line& line : lines) {
      const PrefixStats::Counts& counts = line.counts;
      protocol::AppendPrefixLine(line.prefix, counts.gets, counts.hits, counts.sets, counts.deletes,
                                 output);
      last_ = line.prefix;
    }
    if (!lines.empty()) return true;
    protocol::AppendReply(Reply::kEnd, output);
    return false;
  }

 private:
  const PrefixStats& prefixes_;
  std::optional<std::string> last_;
};

}  // namespace

CommandResult StatsDetail(std::string_view arguments, PrefixStats& prefixes,
                          ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  if (what == "dump") return CommandResult(std::make_unique<DetailDump>(prefixes));
  if (what != "on" && what != "off") return Reply::kStatsDetailUsage;
  const bool on = what == "on";
  prefixes.set_enabled(on);
  context.UpdateSettings([on](SettingsReport& settings) { settings.detail_enabled = on; });
  return Reply::kOk;
}

}  // namespace podcache::command
