// `lru_crawler metadump` and `mgdump`: all keys, a line each, while the cache goes on.
//
// Threads: the worker that owns the connection. Source: protocol.md 8.
#pragma once

#include <memory>

#include "server/command/long_reply.h"
#include "server/store/store.h"

namespace podcache::command {

enum class KeyDumpForm : bool { kMetadump, kMgdump };

// `any` false: of classes that have no items here. The answer begins with OK.
std::unique_ptr<LongReply> NewKeyDump(store::Store& store, KeyDumpForm form, bool any);

}  // namespace podcache::command
