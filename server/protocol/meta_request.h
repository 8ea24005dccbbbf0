// One parsed meta request: mg, ms, md, ma, mn, me.
//
// Ownership: views refer to the parsed line, `key` of a request with the flag b to the KeyBuffer
// given to the parser. A plain value, copied together with what its views refer to.
// Source: protocol.md 3.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "server/protocol/limits.h"

namespace podcache::protocol {

enum class MetaVerb : std::uint8_t { kGet, kSet, kDelete, kArithmetic, kNoop, kDebug };

// Which flags a request has, by their letters, and in which order.
class MetaFlags {
 public:
  static constexpr char kFirst = 'A';
  static constexpr char kLast = 'z';

  bool Has(char letter) const noexcept { return (bits_ >> Bit(letter) & 1) != 0; }
  // Both are there and `first` stands before `second`.
  bool InOrder(char first, char second) const noexcept {
    return Has(first) && Has(second) && order().find(first) < order().find(second);
  }
  std::string_view order() const noexcept { return {letters_.data(), count_}; }
  // A letter that is not there yet; at most kMaxMetaTokens of them.
  void Add(char letter) noexcept {
    bits_ |= std::uint64_t{1} << Bit(letter);
    letters_[count_++] = letter;
  }

 private:
  static unsigned Bit(char letter) noexcept { return static_cast<unsigned>(letter - kFirst); }

  std::uint64_t bits_ = 0;
  std::array<char, kMaxMetaTokens> letters_{};
  std::uint8_t count_ = 0;
};
static_assert(MetaFlags::kLast - MetaFlags::kFirst < 64);

struct MetaRequest {
  std::string_view key;              // As the store knows it.
  std::string_view opaque;           // O, without the letter.
  std::uint64_t value_bytes = 0;     // ms: length of the data block, its line end not counted.
  std::uint64_t compare_cas = 0;     // C
  std::uint64_t set_cas = 0;         // E
  std::uint64_t delta = 1;           // D
  std::uint64_t initial = 0;         // J
  std::int32_t exptime = 0;          // T, as given by the client.
  std::int32_t vivify_exptime = 0;   // N
  std::int32_t recache_exptime = 0;  // R
  std::uint32_t client_flags = 0;    // F
  MetaFlags flags;
  MetaVerb verb = MetaVerb::kNoop;
  char mode = 0;  // M; 0 if it is not there.

  bool quiet() const noexcept { return flags.Has('q'); }
  bool binary_key() const noexcept { return flags.Has('b'); }
};
static_assert(sizeof(MetaRequest) <= 128, "a request is two cache lines");

// Where the parser puts a key that came as base64.
using KeyBuffer = std::array<char, kMaxKeyBytes / 4 * 3>;

}  // namespace podcache::protocol
