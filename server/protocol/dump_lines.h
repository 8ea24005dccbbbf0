// The lines of `lru_crawler metadump` and `mgdump`, `stats cachedump` and `stats detail dump`.
//
// Threads: any. Source: protocol.md 6 and 8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/base/output_buffer.h"

namespace podcache::protocol {

struct MetadumpLine {
  std::string_view key;
  std::int64_t exptime = -1;     // Unix time; -1: none.
  std::int64_t last_access = 0;  // Unix time.
  std::uint64_t cas = 0;
  bool fetched = false;
  std::uint64_t size = 0;
  std::uint32_t client_flags = 0;
};

// "key=<URI-encoded> exp=… la=… cas=… fetch=yes|no cls=1 size=… flags=… " and a newline.
void AppendMetadumpLine(const MetadumpLine& line, OutputBuffer& output);

// "mg <key>", as a request that finds it: a key that the text protocol cannot carry as it is goes
// as base64, with the flag b behind it.
void AppendMgdumpLine(std::string_view key, OutputBuffer& output);

// "ITEM <key> [<length> b; <exptime> s]"; exptime 0: none.
void AppendCachedumpLine(std::string_view key, std::uint64_t value_bytes, std::int64_t exptime,
                         OutputBuffer& output);

// What stands behind the key there.
std::string CachedumpText(std::uint64_t value_bytes, std::int64_t exptime);

// "PREFIX <prefix> get <n> hit <n> set <n> del <n>".
void AppendPrefixLine(std::string_view prefix, std::uint64_t gets, std::uint64_t hits,
                      std::uint64_t sets, std::uint64_t deletes, OutputBuffer& output);

}  // namespace podcache::protocol
