#include "server/command/admin_command.h"

#include <chrono>
#include <cstdint>
#include <utility>

#include "common/base/version.h"
#include "server/command/answer.h"
#include "server/command/crawler_command.h"
#include "server/command/expiry.h"
#include "server/command/tuning_commands.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::Reply;
using protocol::Request;
using protocol::Verb;

namespace {

constexpr std::uint32_t kMinMemlimitMegabytes = 8;
constexpr std::uint32_t kMaxMemlimitMegabytes = 1'000'000'000;

}  // namespace

AdminCommand::AdminCommand(store::Store& store, metrics::CounterRegistry& registry,
                           ServerContext& context, const Clock& clock,
                           const CommandOptions& options)
    : store_(store),
      context_(context),
      clock_(clock),
      options_(options),
      prefixes_(options.prefix_delimiter, options.detail_enabled, store),
      stats_(store, registry, context, prefixes_) {}

std::unique_ptr<LongReply> AdminCommand::Execute(const Request& request,
                                                 metrics::WorkerCounters& counters,
                                                 OutputBuffer& output) {
  Reply reply = Reply::kOk;
  switch (request.verb) {
    case Verb::kVersion:
      protocol::AppendVersionLine(ProtocolVersion(), output);
      return nullptr;
    case Verb::kStats:
      return stats_.Execute(request.arguments, protocol::StatForm(), counters, output);
    case Verb::kLruCrawler: {
      CommandResult result = LruCrawler(request.arguments, !output.empty(), store_, context_);
      if (result.long_reply != nullptr) return std::move(result.long_reply);
      reply = result.reply;
      break;
    }
    case Verb::kLru:
      reply = Lru(request.arguments, context_);
      break;
    case Verb::kSlabs:
      reply = Slabs(request.arguments, context_);
      break;
    case Verb::kRefreshCerts:
      reply = Reply::kTlsNotEnabled;
      break;
    case Verb::kDebugtime:
      reply = DebugTime(request.arguments);
      break;
    case Verb::kFlushAll:
      counters.Add(metrics::Counter::kCmdFlush);
      reply = FlushAll(request.arguments);
      break;
    case Verb::kVerbosity:
      reply = Verbosity(request.arguments);
      break;
    case Verb::kShutdown:
      reply = Shutdown(request.arguments);
      if (reply == Reply::kOk) return nullptr;  // The answer is the end of the connection.
      break;
    case Verb::kCacheMemlimit:
      reply = CacheMemlimit(request.arguments);
      break;
    default:
      reply = Reply::kError;
      break;
  }
  Answer(reply, request.noreply, counters, output);
  return nullptr;
}

bool AdminCommand::Flush(std::int64_t delay_seconds) {
  if (!options_.flush_enabled) return false;
  // Zero and negative delays mean now, as in memcached.
  store_.FlushAll(delay_seconds <= 0                     ? 0
                  : delay_seconds <= kMaxRelativeSeconds ? clock_.WallSeconds() + delay_seconds
                                                         : delay_seconds);
  return true;
}

Reply AdminCommand::FlushAll(std::string_view arguments) {
  if (!options_.flush_enabled) return Reply::kFlushNotAllowed;
  const std::string_view token = protocol::TakeToken(arguments);
  std::int32_t delay = 0;
  if (!token.empty() && token != "noreply" && !protocol::ParseSigned32(token, delay)) {
    return Reply::kBadExptime;
  }
  Flush(delay);
  return Reply::kOk;
}

Reply AdminCommand::Verbosity(std::string_view arguments) {
  std::uint32_t level = 0;
  if (!protocol::ParseUnsigned32(protocol::TakeToken(arguments), level)) return Reply::kBadFormat;
  constexpr std::uint32_t kHighestLevel = 3;
  context_.SetVerbosity(static_cast<int>(level < kHighestLevel ? level : kHighestLevel));
  return Reply::kOk;
}

Reply AdminCommand::Shutdown(std::string_view arguments) {
  if (!options_.shutdown_enabled) return Reply::kShutdownNotEnabled;
  const std::string_view mode = protocol::TakeToken(arguments);
  if (!mode.empty() &&
      (!protocol::StandsFor(mode, "graceful") || !protocol::TakeToken(arguments).empty())) {
    return Reply::kBadShutdownMode;
  }
  context_.RequestShutdown(!mode.empty());
  return Reply::kOk;
}

Reply AdminCommand::CacheMemlimit(std::string_view arguments) {
  std::uint32_t megabytes = 0;
  if (!protocol::ParseUnsigned32(protocol::TakeToken(arguments), megabytes)) return Reply::kError;
  if (megabytes < kMinMemlimitMegabytes) return Reply::kMemlimitTooSmall;
  if (megabytes > kMaxMemlimitMegabytes) return Reply::kMemlimitInBytes;
  const std::uint64_t limit_bytes = std::uint64_t{megabytes} << 20;
  return context_.SetMemoryLimit(limit_bytes) ? Reply::kOk : Reply::kMemlimitOutOfBounds;
}

Reply AdminCommand::DebugTime(std::string_view arguments) {
  if (options_.test_clock == nullptr) return Reply::kError;
  const std::string_view what = protocol::TakeToken(arguments);
  std::int64_t seconds = 0;
  if (what == "p") {
    options_.test_clock->Pause();
  } else if (what == "r") {
    options_.test_clock->Resume();
  } else if (protocol::ParseExptime(what, seconds)) {
    options_.test_clock->Shift(std::chrono::seconds(seconds));
  } else {
    return Reply::kError;
  }
  return Reply::kOk;
}

}  // namespace podcache::command
