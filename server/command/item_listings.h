// `stats cachedump` and `stats sizes`: what a walk over all items shows, within bounds.
//
// Threads: the worker that owns the connection. Source: protocol.md 6.
#pragma once

#include <cstdint>
#include <memory>

#include "server/command/long_reply.h"
#include "server/protocol/stat_form.h"
#include "server/store/store.h"

namespace podcache::command {

// At most `items` items (0: as many as there are) and two megabytes; `any` false: of an empty
// class.
std::unique_ptr<LongReply> NewCachedump(store::Store& store, const protocol::StatForm& form,
                                        std::uint32_t items, bool any);

// How many items there are of each size, in steps of 32 bytes.
std::unique_ptr<LongReply> NewSizesListing(store::Store& store, const protocol::StatForm& form);

}  // namespace podcache::command
