// What nearly all traffic consists of, recognized in one pass:
//
//   get KEY                              one key, one space
//   get KEY KEY …                        keys behind one space each
//   set KEY FLAGS EXPTIME LENGTH         plain digits, at most nine each, one space between
//
// Whoever gets 0 asks TextParser. What is accepted here TextParser understands in the same way; the
// test of this file holds the two against each other.
//
// Threads: any. Ownership: views in the results refer to the input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "server/protocol/encoders.h"
#include "server/protocol/limits.h"
#include "server/protocol/request.h"
#include "server/protocol/scan.h"

namespace podcache::protocol {

// Bytes of the line at the start of `input`, with its end, or 0; then `key` is not touched.
inline std::size_t TakeUsualGet(std::string_view input, std::string_view& key) noexcept {
  constexpr std::string_view kWord = "get ";
  if (!input.starts_with(kWord)) return 0;
  // The longest key and the line end behind it.
  const std::size_t end = FindSeparator(input.substr(kWord.size(), kMaxKeyBytes + kLineEnd.size()));
  if (end == std::string_view::npos || input[kWord.size() + end] != '\n') return 0;
  std::string_view found = input.substr(kWord.size(), end);
  if (found.ends_with('\r')) found.remove_suffix(1);
  if (found.empty() || found.size() > kMaxKeyBytes) return 0;
  key = found;
  return kWord.size() + end + 1;
}

// Bytes of the space and the key at the start of `input`, if a space follows; or 0, then `key` is
// not touched.
inline std::size_t TakeUsualKey(std::string_view input, std::string_view& key) noexcept {
  if (!input.starts_with(' ')) return 0;
  const std::size_t end = FindSeparator(input.substr(1, kMaxKeyBytes + 1));
  if (end == std::string_view::npos || end == 0 || input[1 + end] != ' ') return 0;
  key = input.substr(1, end);
  return 1 + end;
}

// Bytes of the line at the start of `input`, with its end, or 0; then `request` is not touched.
std::size_t TakeUsualSet(std::string_view input, Request& request) noexcept;

}  // namespace podcache::protocol
