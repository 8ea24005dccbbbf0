// What the store tells of an item, in the words of the meta commands.
#pragma once

#include <cstdint>

#include "server/command/command_executor.h"
#include "server/command/expiry.h"
#include "server/protocol/meta_encoder.h"
#include "server/protocol/meta_request.h"
#include "server/store/item_read.h"

namespace podcache::command {

// The expiry of an item that N creates: T and N both set it, the later one counts.
inline std::int64_t VivifyExptime(const protocol::MetaRequest& request,
                                  CommandExecutor& common) noexcept {
  return common.Absolute(request.flags.InOrder('N', 'T') ? request.exptime
                                                         : request.vivify_exptime);
}

// What T and N do to the time that is left.
inline void SetNewTtls(const protocol::MetaRequest& request, CommandExecutor& common,
                       protocol::MetaItem& item) noexcept {
  const std::int64_t now = common.Now();
  item.new_ttl = SecondsLeft(common.Absolute(request.exptime), now);
  item.vivify_ttl = SecondsLeft(common.Absolute(request.vivify_exptime), now);
}

inline protocol::MetaItem ItemFor(const store::ItemMeta& meta, std::int64_t now) noexcept {
  protocol::MetaItem item;
  item.value_bytes = meta.value_bytes;
  item.cas = meta.cas;
  item.ttl = SecondsLeft(meta.exptime, now);
  item.item_bytes = meta.item_bytes;
  item.client_flags = meta.client_flags;
  item.idle_seconds = meta.idle_seconds;
  item.has_value = meta.has_value;
  item.created = meta.created;
  item.fetched = meta.fetched;
  item.stale = meta.stale;
  item.won = meta.won != store::Lease::kNone;
  item.held = meta.held != store::Lease::kNone;
  return item;
}

}  // namespace podcache::command
