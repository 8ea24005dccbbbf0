// The parser of the classic text protocol: lines in, requests out.
//
// It keeps no state, allocates nothing, does no I/O and never sees value bytes: a storage request
// says how long its data block is, whoever calls takes the block off the input. The same bytes give
// the same requests however they are cut: what a result depends on is in the input alone, and as
// long as that is not decided the answer is kNeedMore.
//
// Retrieval lines have no limit. Their keys are taken one at a time with NextKey. A line of at most
// kMaxLineBytes is waited for and checked as a whole first, so that a bad key in it is answered by
// one error line and nothing else; of a longer one the keys before the bad one have been served.
//
// Threads: any. Ownership: views in the results refer to the input.
// Source: protocol.md 1, 2, 10.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/protocol/encoders.h"
#include "server/protocol/request.h"

namespace podcache::protocol {

enum class ParseStatus : std::uint8_t {
  kNeedMore,  // No whole line yet.
  kRequest,   // One request; with a storage verb a data block of value_bytes and a line end follow.
  kKeys,      // A retrieval request, its keys follow: take them with NextKey until the line ends.
  kMeta,      // A meta command: `consumed` is its whole line, for MetaParser.
  kError,     // Answer `error` (unless noreply), then skip `skip_bytes`.
  kSkipLine,  // As kError, but skip up to and including the next newline before the answer.
  kClose,     // Nothing after this is to be understood; no answer.
};

struct ParseResult {
  ParseStatus status = ParseStatus::kNeedMore;
  Reply error = Reply::kError;
  bool noreply = false;
  std::size_t consumed = 0;
  std::uint64_t skip_bytes = 0;
};

enum class KeyStatus : std::uint8_t {
  kNeedMore,   // The key is not complete; spaces before it may have been consumed.
  kKey,        // One key, more may follow.
  kLastKey,    // One key, and the line has ended.
  kEndOfLine,  // The line has ended without another key.
  kTooLong,    // Longer than a key can be.
};

struct KeyResult {
  KeyStatus status = KeyStatus::kNeedMore;
  std::size_t consumed = 0;
  std::string_view key;
};

class TextParser {
 public:
  // One line at the start of `input`. `request` is filled with kRequest and kKeys.
  static ParseResult Parse(std::string_view input, Request& request) noexcept;
  // The next key of a retrieval line.
  static KeyResult NextKey(std::string_view input) noexcept;
};

}  // namespace podcache::protocol
