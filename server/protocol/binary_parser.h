// The parser of the binary protocol: packets in, requests out.
//
// Like TextParser it keeps no state, allocates nothing and never sees value bytes. What makes a
// packet illegal is in its header alone, so it is refused before the rest has come, and no length
// in it is ever used unchecked.
//
// Threads: any. Ownership: views in the results refer to the input.
// Source: protocol.md 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/protocol/binary_encoders.h"
#include "server/protocol/binary_request.h"

namespace podcache::protocol {

enum class BinaryParseStatus : std::uint8_t {
  kNeedMore,  // Header, extras and key are not complete.
  kRequest,   // One request; with a storage verb value_bytes of value follow.
  kError,     // Answer `error`, then skip `skip_bytes`.
  kFatal,     // Answer `error`, then close: where the next packet starts is not known.
  kClose,     // No packet at all; no answer.
};

struct BinaryParseResult {
  BinaryParseStatus status = BinaryParseStatus::kNeedMore;
  BinaryStatus error = BinaryStatus::kOk;
  std::size_t consumed = 0;
  std::uint64_t skip_bytes = 0;
};

class BinaryParser {
 public:
  // The packet at the start of `input`. `request` is filled with kRequest, its head also with
  // kError and kFatal.
  static BinaryParseResult Parse(std::string_view input, BinaryRequest& request) noexcept;
};

}  // namespace podcache::protocol
