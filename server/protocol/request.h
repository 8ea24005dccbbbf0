// One parsed request: everything on the line, never the value behind it.
//
// Ownership: views refer to the parsed input and live as long as it does.
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::protocol {

// In groups: retrieval, storage, one key, administration. Meta and binary requests will extend this
// list at its end.
enum class Verb : std::uint8_t {
  kGet,
  kGets,
  kGat,
  kGats,

  kSet,
  kAdd,
  kReplace,
  kAppend,
  kPrepend,
  kCas,

  kDelete,
  kIncr,
  kDecr,
  kTouch,

  kFlushAll,
  kVersion,
  kVerbosity,
  kStats,
  kQuit,
  kShutdown,
  kCacheMemlimit,
  kWatch,
  kLruCrawler,
  kLru,
  kSlabs,
  kRefreshCerts,
  kDebugtime,
};

constexpr bool IsRetrieval(Verb verb) noexcept { return verb <= Verb::kGats; }
constexpr bool IsStorage(Verb verb) noexcept { return verb >= Verb::kSet && verb <= Verb::kCas; }
constexpr bool ReturnsCas(Verb verb) noexcept { return verb == Verb::kGets || verb == Verb::kGats; }
constexpr bool SetsExptime(Verb verb) noexcept { return verb == Verb::kGat || verb == Verb::kGats; }

struct Request {
  // One-key and storage verbs. Empty for retrieval: those keys are taken one by one with
  // TextParser::NextKey.
  std::string_view key;
  // Administrative verbs: what stands behind the verb, without leading and trailing spaces.
  std::string_view arguments;
  std::uint64_t value_bytes = 0;  // Storage: length of the data block, its line end not counted.
  std::uint64_t number = 0;       // cas: the unique to compare; incr, decr: the delta.
  std::int64_t exptime = 0;       // As given by the client: relative, absolute or negative.
  std::uint32_t client_flags = 0;
  Verb verb = Verb::kGet;
  bool noreply = false;
};
static_assert(sizeof(Request) == 64, "a request is one cache line");

}  // namespace podcache::protocol
