// The seeded hash of keys: an attacker who does not know the seed cannot make keys collide.
//
// Threads: immutable, any.
// Source: XXH3, 64 bits (xxHash 0.8).
#pragma once

#define XXH_INLINE_ALL
#include <xxhash.h>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace podcache::store {

class KeyHasher {
 public:
  // Seed 0: a random one.
  explicit KeyHasher(std::uint64_t seed);
  std::uint64_t seed() const noexcept { return seed_; }
  // Short keys inline: they take less time than a call with its prologue would.
  std::uint64_t Hash(std::string_view key) const noexcept {
    if (key.size() > kShortKeyBytes) return HashLong(key);
    return XXH3_64bits_withSeed(key.data(), key.size(), seed_);
  }

 private:
  static constexpr std::size_t kShortKeyBytes = 16;
  std::uint64_t HashLong(std::string_view key) const noexcept;

  std::uint64_t seed_;
};

}  // namespace podcache::store
