// `lru_crawler`: dumps of all keys, and what memcached's crawler can be told. Expired items are
// removed here by the store's sweep, which cannot be switched off; `crawl` makes it look at once.
//
// Threads: any. Source: protocol.md 8.
#pragma once

#include <string_view>

#include "server/command/command_result.h"
#include "server/command/server_context.h"
#include "server/store/store.h"

namespace podcache::command {

// `replies_pending`: a dump must not begin behind what is not yet sent.
CommandResult LruCrawler(std::string_view arguments, bool replies_pending, store::Store& store,
                         ServerContext& context);

}  // namespace podcache::command
