#include <cstdint>

#include "server/command/tuning_commands.h"
#include "server/protocol/numbers.h"
#include "server/protocol/scan.h"

namespace podcache::command {

using protocol::Reply;
using protocol::StandsFor;

namespace {

// memcached's highest class with the default growth factor; 0 is its pool of free pages.
constexpr std::int32_t kHighestClass = 39;
constexpr std::uint32_t kMaxAutomove = 2;
constexpr std::uint32_t kMinWindow = 3;
constexpr std::uint32_t kMaxWindow = 1800;

bool IsClass(std::int32_t id) noexcept { return id >= 0 && id <= kHighestClass; }

// Memory is not divided between classes, so none ever has a page to spare.
Reply Reassign(std::string_view arguments, const ServerContext& context) {
  const std::string_view source = protocol::TakeToken(arguments);
  const std::string_view target = protocol::TakeToken(arguments);
  if (target.empty() || !protocol::TakeToken(arguments).empty()) return Reply::kError;
  if (!context.Settings().slab_reassign) return Reply::kReassignDisabled;
  std::int32_t from = 0;
  std::int32_t to = 0;
  if (!protocol::ParseSigned32(source, from) || !protocol::ParseSigned32(target, to))
    return Reply::kBadFormat;
  if (from == to) return Reply::kSameClass;
  return IsClass(from) && IsClass(to) ? Reply::kNoSparePage : Reply::kBadClassPair;
}

Reply Ratio(std::string_view argument, bool free_ratio, ServerContext& context) {
  double ratio = 0;
  if (!protocol::ParseDecimal(argument, ratio)) return Reply::kError;
  if (!free_ratio) {
    context.UpdateSettings(
        [ratio](SettingsReport& settings) { settings.slab_automove_ratio = ratio; });
  }
  return Reply::kOk;
}

Reply Window(std::string_view argument, ServerContext& context) {
  std::uint32_t window = 0;
  if (!protocol::ParseUnsigned32(argument, window)) return Reply::kBadFormat;
  if (window < kMinWindow || window > kMaxWindow) return Reply::kBadAutomoveWindow;
  context.UpdateSettings(
      [window](SettingsReport& settings) { settings.slab_automove_window = window; });
  return Reply::kOk;
}

Reply Automove(std::string_view arguments, ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  const std::string_view argument = protocol::TakeToken(arguments);
  if (what.empty()) return Reply::kError;
  const bool free_ratio = StandsFor(what, "freeratio");
  if (free_ratio || StandsFor(what, "ratio")) return Ratio(argument, free_ratio, context);
  if (StandsFor(what, "window")) return Window(argument, context);
  std::uint32_t level = 0;
  if (!protocol::ParseUnsigned32(what, level)) return Reply::kBadFormat;
  if (level > kMaxAutomove) return Reply::kError;
  context.UpdateSettings(
      [level](SettingsReport& settings) { settings.slab_automove = static_cast<int>(level); });
  return Reply::kOk;
}

}  // namespace

Reply Slabs(std::string_view arguments, ServerContext& context) {
  const std::string_view what = protocol::TakeToken(arguments);
  if (StandsFor(what, "reassign")) return Reassign(arguments, context);
  if (StandsFor(what, "automove")) return Automove(arguments, context);
  return Reply::kError;
}

}  // namespace podcache::command
