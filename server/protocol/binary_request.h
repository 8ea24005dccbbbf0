// One parsed request of the binary protocol: header, extras and key, never the value behind them.
//
// Ownership: views refer to the parsed input and live as long as it does.
// Source: protocol.md 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podcache::protocol {

inline constexpr unsigned char kBinaryRequestMagic = 0x80;
inline constexpr unsigned char kBinaryReplyMagic = 0x81;
inline constexpr std::size_t kBinaryHeaderBytes = 24;
// Extras, key and value together; more closes the connection.
inline constexpr std::uint64_t kMaxBinaryBodyBytes = 1ULL << 30;

// In groups: retrieval, storage, the rest. What an opcode has beyond that (quiet, with key) stands
// beside the verb.
enum class BinaryVerb : std::uint8_t {
  kGet,
  kGetAndTouch,

  kSet,
  kAdd,
  kReplace,
  kAppend,
  kPrepend,

  kTouch,
  kDelete,
  kIncrement,
  kDecrement,
  kFlush,
  kNoop,
  kVersion,
  kStat,
  kQuit,
};

constexpr bool IsRetrieval(BinaryVerb verb) noexcept { return verb <= BinaryVerb::kGetAndTouch; }
constexpr bool IsStorage(BinaryVerb verb) noexcept {
  return verb >= BinaryVerb::kSet && verb <= BinaryVerb::kPrepend;
}

// What a reply needs to know of its request; kept while a value arrives.
struct BinaryHead {
  std::uint32_t opaque = 0;  // Four bytes as they came.
  std::uint8_t opcode = 0;
  BinaryVerb verb = BinaryVerb::kGet;
  bool quiet = false;     // The nominal reply (get: a miss) is left out. Errors never are.
  bool with_key = false;  // The reply of a retrieval repeats the key.
};

struct BinaryRequest {
  std::string_view key;
  std::uint64_t compare_cas = 0;  // 0: any.
  std::uint64_t delta = 0;
  std::uint64_t initial = 0;
  std::uint64_t value_bytes = 0;  // Storage: what follows.
  std::uint32_t client_flags = 0;
  std::uint32_t exptime = 0;  // Seconds as the client gave them, or the delay of a flush.
  BinaryHead head;
};
static_assert(sizeof(BinaryRequest) == 64, "a request is one cache line");

// Arithmetic with this expiry creates nothing.
inline constexpr std::uint32_t kDoNotCreate = 0xffffffff;

}  // namespace podcache::protocol
