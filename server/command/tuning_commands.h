// `lru` and `slabs`: memcached's knobs. Checked as it does and shown in `stats settings`; they turn
// nothing, because there are no slab classes and no LRU lists here.
//
// Threads: any. Source: protocol.md 8.
#pragma once

#include <string_view>

#include "server/command/server_context.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

protocol::Reply Lru(std::string_view arguments, ServerContext& context);
protocol::Reply Slabs(std::string_view arguments, ServerContext& context);

}  // namespace podcache::command
