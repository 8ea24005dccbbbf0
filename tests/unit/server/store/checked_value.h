// Values that check themselves, for tests with several threads.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>
#include <string_view>

namespace podcache::store {

// A value that says which key it belongs to and cannot be torn without showing it.
inline std::string MakeValue(std::uint64_t key, std::uint64_t nonce, std::size_t words) {
  std::string value((words + 2) * 8, '\0');
  std::uint64_t word = nonce * 0x9e3779b97f4a7c15 + key;
  std::memcpy(value.data(), &key, 8);
  std::memcpy(value.data() + 8, &word, 8);
  for (std::size_t i = 0; i < words; ++i) {
    word = word * 6364136223846793005 + 1442695040888963407;
    std::memcpy(value.data() + 16 + i * 8, &word, 8);
  }
  return value;
}

inline bool IsWhole(std::uint64_t key, std::string_view value) {
  std::uint64_t stored_key = 0;
  std::uint64_t word = 0;
  if (value.size() < 16 || value.size() % 8 != 0) return false;
  std::memcpy(&stored_key, value.data(), 8);
  std::memcpy(&word, value.data() + 8, 8);
  if (stored_key != key) return false;
  for (std::size_t i = 16; i < value.size(); i += 8) {
    word = word * 6364136223846793005 + 1442695040888963407;
    if (std::memcmp(&word, value.data() + i, 8) != 0) return false;
  }
  return true;
}

}  // namespace podcache::store
