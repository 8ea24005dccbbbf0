// The streams of `watch` and the lines they carry.
//
// A line is "ts=<seconds>.<microseconds> gid=<number> type=<type> <field>=<value>…" and a newline.
//
// Threads: any. Ownership: none; lines are written into the caller's memory.
// Source: protocol.md 7.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "server/protocol/limits.h"
#include "server/protocol/uri.h"

namespace podcache::protocol {

// A set of streams.
using Streams = std::uint32_t;
inline constexpr Streams kRawCommands = 1U << 0;
inline constexpr Streams kEvictions = 1U << 1;
inline constexpr Streams kFetchers = 1U << 2;
inline constexpr Streams kMutations = 1U << 3;
inline constexpr Streams kSystemEvents = 1U << 4;
inline constexpr Streams kConnectionEvents = 1U << 5;
inline constexpr Streams kDeletions = 1U << 6;
// Of memcached's proxy: known, and always silent.
inline constexpr Streams kProxyEvents = 1U << 7;

// The arguments of `watch`; without any: fetchers. Nothing for an unknown word.
std::optional<Streams> ParseStreams(std::string_view arguments) noexcept;

struct WatchStamp {
  std::int64_t unix_microseconds = 0;
  std::uint64_t gid = 0;  // Ascends over all events of a server.
};

enum class LookupStatus : std::uint8_t { kNotFound, kFound, kFlushed, kExpired };
enum class StoreOutcome : std::uint8_t {
  kNotStored,
  kStored,
  kExists,
  kNotFound,
  kTooLarge,
  kNoMemory
};

// The longest line there is.
inline constexpr std::size_t kMaxWatchLineBytes = 256 + MaxUriBytes(kMaxKeyBytes);

// Each writes one line to `at`, where kMaxWatchLineBytes must be free, and returns its end.
// `connection` is the id that `stats conns` shows.
char* WriteItemGet(char* at, const WatchStamp& stamp, std::string_view key, LookupStatus status,
                   std::uint64_t connection, std::uint64_t value_bytes) noexcept;
// `ttl` in seconds from now, 0 = for ever, -1 = has expired already.
char* WriteItemStore(char* at, const WatchStamp& stamp, std::string_view key, StoreOutcome outcome,
                     std::string_view command, std::int64_t ttl, std::uint64_t connection,
                     std::uint64_t value_bytes) noexcept;
// `ttl` -1 = for ever.
char* WriteEviction(char* at, const WatchStamp& stamp, std::string_view key, bool fetched,
                    std::int64_t ttl, std::uint32_t idle_seconds,
                    std::uint64_t value_bytes) noexcept;
char* WriteDeleted(char* at, const WatchStamp& stamp, std::string_view key,
                   std::string_view command, std::uint64_t value_bytes) noexcept;

struct WatchedConnection {
  std::string_view ip;  // Empty: a client of a Unix socket.
  std::uint16_t port = 0;
  std::string_view transport;  // local, tcp, udp.
  std::uint64_t id = 0;
};
char* WriteConnNew(char* at, const WatchStamp& stamp, const WatchedConnection& who) noexcept;
enum class ConnectionEnd : std::uint8_t { kError, kNormal, kIdleTimeout, kShutdown };
char* WriteConnClose(char* at, const WatchStamp& stamp, const WatchedConnection& who,
                     ConnectionEnd reason) noexcept;

// "skipped=<n>": so many lines were lost here. Needs kMaxSkippedBytes.
inline constexpr std::size_t kMaxSkippedBytes = 32;
char* WriteSkipped(char* at, std::uint64_t lines) noexcept;

}  // namespace podcache::protocol
