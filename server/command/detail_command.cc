#include "server/command/detail_command.h"

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

#include "server/protocol/binary_encoders.h"
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

// The same text as the value of one packet: its length comes first, so it is gathered before any of
// it is sent. That copy counts against the budget.
class DetailPacket final : public LongReply {
 public:
  DetailPacket(const PrefixStats& prefixes, const protocol::BinaryHead& request)
      : prefixes_(prefixes), request_(request), dump_(prefixes) {}
  ~DetailPacket() override { prefixes_.ChargeCopy(-charged_bytes_); }

  bool Continue(OutputBuffer& output) override {
    if (gathering_) {
      gathering_ = dump_.Continue(text_);
      Charge();
      if (!gathering_)
        protocol::AppendBinaryStatHead(request_, "detailed", text_.pending_bytes(), output);
      return true;
    }
    constexpr std::size_t kBytesPerStep = 16U << 10;
    iovec piece;
    if (text_.FillIovec(&piece, 1) > 0) {
      const std::size_t n = std::min(piece.iov_len, kBytesPerStep);
      output.Append({static_cast<const char*>(piece.iov_base), n});
      text_.Consume(n);
      return true;
    }
    protocol::AppendBinaryOk(request_, 0, output);
    return false;
  }

 private:
  void Charge() {
    const auto bytes = static_cast<std::int64_t>(text_.capacity_bytes());
    if (bytes == charged_bytes_) return;
    prefixes_.ChargeCopy(bytes - charged_bytes_);
    charged_bytes_ = bytes;
  }

  const PrefixStats& prefixes_;
  const protocol::BinaryHead request_;
  DetailDump dump_;
  OutputBuffer text_;
  std::int64_t charged_bytes_ = 0;
  bool gathering_ = true;
};

}  // namespace

CommandResult StatsDetail(std::string_view arguments, const protocol::StatForm& form,
                          PrefixStats& prefixes, ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  const bool on = protocol::StandsFor(what, "on");
  if (protocol::StandsFor(what, "dump")) {
    if (form.request() == nullptr) return CommandResult(std::make_unique<DetailDump>(prefixes));
    return CommandResult(std::make_unique<DetailPacket>(prefixes, *form.request()));
  }
  if (!on && !protocol::StandsFor(what, "off")) return Reply::kStatsDetailUsage;
  prefixes.set_enabled(on);
  context.UpdateSettings([on](SettingsReport& settings) { settings.detail_enabled = on; });
  return Reply::kOk;
}

}  // namespace podcache::command
