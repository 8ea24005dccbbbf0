// The answers to meta commands: beside `encoders` the only place that knows reply texts.
//
// Return flags come in the order in which they were asked for, then Z, X, W (protocol.md 3).
//
// Threads: any. Ownership: none.
#pragma once

#include <cstddef>
#include <cstdint>

#include "common/base/output_buffer.h"
#include "server/protocol/meta_request.h"

namespace podcache::protocol {

enum class MetaStatus : std::uint8_t {
  kOk,    // HD, or VA with a value.
  kMiss,  // EN
  kNotFound,
  kNotStored,
  kExists,
};

// What an answer may tell of the item. Seconds left are -1 for one that never expires.
struct MetaItem {
  std::uint64_t value_bytes = 0;
  std::uint64_t cas = 0;
  std::int64_t ttl = -1;         // Before this request.
  std::int64_t new_ttl = -1;     // From the flag T on.
  std::int64_t vivify_ttl = -1;  // From the flag N on, if the item was created.
  std::uint64_t item_bytes = 0;  // me only.
  std::uint32_t client_flags = 0;
  std::uint32_t idle_seconds = 0;
  bool has_value = false;  // The value follows.
  bool created = false;
  bool fetched = false;
  bool stale = false;  // X
  bool won = false;    // W: the client is asked to renew it.
  bool held = false;   // Z: another one has been asked.
};

inline constexpr std::size_t kMaxMetaLineBytes = 640;
// Writes the line to `at`, where kMaxMetaLineBytes must be free; returns its end.
char* WriteMetaLine(char* at, MetaStatus status, const MetaRequest& request,
                    const MetaItem& item) noexcept;
void AppendMetaLine(MetaStatus status, const MetaRequest& request, const MetaItem& item,
                    OutputBuffer& output);

// The answer to me for a key that is there.
void AppendMetaDebugLine(const MetaRequest& request, const MetaItem& item, OutputBuffer& output);

}  // namespace podcache::protocol
