#include "server/command/stats_command.h"

#include <string>
#include <utility>

#include "server/command/answer.h"
#include "server/command/detail_command.h"
#include "server/command/item_listings.h"
#include "server/protocol/binary_encoders.h"
#include "server/protocol/encoders.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::AppendStat;
using protocol::Reply;
using protocol::StandsFor;

namespace {

// All that is waiting in a buffer, as one text.
std::string TakeText(OutputBuffer& buffer) {
  std::string text;
  iovec piece;
  while (buffer.FillIovec(&piece, 1) > 0) {
    text.append(static_cast<const char*>(piece.iov_base), piece.iov_len);
    buffer.Consume(piece.iov_len);
  }
  return text;
}

}  // namespace

std::unique_ptr<LongReply> StatsCommand::Execute(std::string_view arguments,
                                                 const protocol::StatForm& form,
                                                 metrics::WorkerCounters& counters,
                                                 OutputBuffer& output) {
  const protocol::BinaryHead* const request = form.request();
  if (request == nullptr) {
    CommandResult result = Run(arguments, form, output);
    if (result.long_reply == nullptr) Answer(result.reply, false, counters, output);
    return std::move(result.long_reply);
  }
  OutputBuffer lines;
  CommandResult result = Run(arguments, form, lines);
  if (result.long_reply != nullptr) return std::move(result.long_reply);
  // The one refusal that the binary protocol has for a family, whatever is wrong with it.
  if (protocol::IsError(result.reply)) {
    protocol::AppendBinaryError(*request, protocol::BinaryStatus::kNotFound, output);
  } else {
    protocol::AppendBinaryStats(*request, TakeText(lines), output);
  }
  return nullptr;
}

CommandResult StatsCommand::Run(std::string_view arguments, const protocol::StatForm& form,
                                OutputBuffer& output) {
  const std::string_view family = protocol::TakeToken(arguments);
  CommandResult result = Reply::kEnd;
  if (family.empty()) {
    General(output);
  } else if (StandsFor(family, "reset")) {
    Reset();
    result = Reply::kReset;
  } else if (StandsFor(family, "detail")) {
    result = context_.Settings().dump_enabled ? StatsDetail(arguments, form, prefixes_, context_)
                                              : Reply::kStatsDetailNotAllowed;
  } else if (StandsFor(family, "settings")) {
    AppendSettings(context_.Settings(), output);
  } else if (StandsFor(family, "cachedump")) {
    result = Cachedump(arguments, form);
  } else if (StandsFor(family, "conns")) {
    Connections(output);
  } else if (family == "items") {
    Items(output);
  } else if (family == "slabs") {
    Slabs(output);
  } else if (family == "sizes") {
    result = Sizes(form, output);
  } else {
    result = Reply::kError;
  }
  return result;
}

CommandResult StatsCommand::Sizes(const protocol::StatForm& form, OutputBuffer& output) {
  if (context_.Settings().track_sizes) return CommandResult(NewSizesListing(store_, form));
  AppendStat("sizes_status", "disabled", output);
  return Reply::kEnd;
}

CommandResult StatsCommand::Cachedump(std::string_view arguments, const protocol::StatForm& form) {
  constexpr std::uint32_t kClasses = 64;
  constexpr std::uint32_t kOurClass = 1;
  if (!context_.Settings().dump_enabled) return Reply::kStatsCachedumpNotAllowed;
  const std::string_view class_token = protocol::TakeToken(arguments);
  const std::string_view items_token = protocol::TakeToken(arguments);
  if (items_token.empty()) return Reply::kStatsBadLine;
  std::uint32_t id = 0;
  std::uint32_t items = 0;
  if (!protocol::ParseUnsigned32(class_token, id) ||
      !protocol::ParseUnsigned32(items_token, items)) {
    return Reply::kBadFormat;
  }
  if (id >= kClasses) return Reply::kBadSlabId;
  return CommandResult(NewCachedump(store_, form, items, id == kOurClass));
}

void StatsCommand::Connections(OutputBuffer& out) {
  for (const ConnectionReport& one : context_.Connections()) {
    const std::string prefix = std::to_string(one.id) + ":";
    if (one.is_udp) AppendStat(prefix + "UDP", "UDP", out);
    AppendStat(prefix + "addr", one.address, out);
    if (!one.listen_address.empty()) AppendStat(prefix + "listen_addr", one.listen_address, out);
    AppendStat(prefix + "state", one.state, out);
    AppendStat(prefix + "secs_since_last_cmd", one.idle_seconds, out);
  }
}

void StatsCommand::Reset() {
  registry_.MarkReset();
  prefixes_.Clear();
  since_reset_.Mark(store_.stats(), context_.Stats());
}

}  // namespace podcache::command
