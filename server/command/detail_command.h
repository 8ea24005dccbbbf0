// `stats detail on|off|dump`.
//
// Threads: any. Source: protocol.md 6.
#pragma once

#include <memory>
#include <string_view>

#include "server/command/command_result.h"
#include "server/command/prefix_stats.h"
#include "server/command/server_context.h"
#include "server/protocol/stat_form.h"

namespace podcache::command {

// `arguments` is what stands behind `detail`.
CommandResult StatsDetail(std::string_view arguments, const protocol::StatForm& form,
                          PrefixStats& prefixes, ServerContext& context);

}  // namespace podcache::command
