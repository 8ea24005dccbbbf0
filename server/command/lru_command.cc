#include <cstdint>

#include "server/command/tuning_commands.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::Reply;
using protocol::StandsFor;

namespace {

constexpr std::uint64_t kMaxPercent = 80;

Reply Mode(std::string_view mode, ServerContext& context) {
  const bool segmented = StandsFor(mode, "segmented");
  if (!segmented && !StandsFor(mode, "flat")) return Reply::kError;
  context.UpdateSettings(
      [segmented](SettingsReport& settings) { settings.lru_segmented = segmented; });
  return Reply::kOk;
}

Reply Tune(std::string_view arguments, ServerContext& context) {
  std::uint32_t hot = 0;
  std::uint32_t warm = 0;
  double hot_factor = 0;
  double warm_factor = 0;
  if (!protocol::ParseUnsigned32(protocol::TakeToken(arguments), hot) ||
      !protocol::ParseUnsigned32(protocol::TakeToken(arguments), warm) ||
      !protocol::ParseDecimal(protocol::TakeToken(arguments), hot_factor) ||
      !protocol::ParseDecimal(protocol::TakeToken(arguments), warm_factor)) {
    return Reply::kError;
  }
  if (std::uint64_t{hot} + warm > kMaxPercent) return Reply::kLruPercentsTooHigh;
  if (hot_factor <= 0 || warm_factor <= 0) return Reply::kLruFactorsTooLow;
  context.UpdateSettings([=](SettingsReport& settings) {
    settings.hot_lru_pct = hot;
    settings.warm_lru_pct = warm;
    settings.hot_max_factor = hot_factor;
    settings.warm_max_factor = warm_factor;
  });
  return Reply::kOk;
}

// A negative one switches it off.
Reply TempTtl(std::string_view argument, ServerContext& context) {
  std::int32_t ttl = 0;
  if (!protocol::ParseSigned32(argument, ttl)) return Reply::kError;
  context.UpdateSettings([ttl](SettingsReport& settings) {
    settings.temp_lru = ttl >= 0;
    if (ttl >= 0) settings.temporary_ttl = static_cast<std::uint64_t>(ttl);
  });
  return Reply::kOk;
}

// A shortened word may stand for either of tune and temp_ttl: so many numbers make it tune.
bool HasAllFactors(std::string_view arguments) noexcept {
  for (int i = 0; i < 3; ++i) protocol::TakeToken(arguments);
  return !protocol::TakeToken(arguments).empty();
}

}  // namespace

Reply Lru(std::string_view arguments, ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  if (StandsFor(what, "tune") && HasAllFactors(arguments)) return Tune(arguments, context);
  const std::string_view argument = protocol::TakeToken(arguments);
  if (argument.empty() || !context.Settings().lru_maintainer) return Reply::kError;
  if (StandsFor(what, "mode")) return Mode(argument, context);
  if (StandsFor(what, "temp_ttl")) return TempTtl(argument, context);
  return Reply::kError;
}

}  // namespace podcache::command
