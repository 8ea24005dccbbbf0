// The seeded hash of keys: an attacker who does not know the seed cannot make keys collide.
//
// Threads: immutable, any.
// Source: XXH3, 64 bits (xxHash 0.8).
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::store {

class KeyHasher {
 public:
  // Seed 0: a random one.
  explicit KeyHasher(std::uint64_t seed);
  std::uint64_t Hash(std::string_view key) const noexcept;

 private:
  std::uint64_t seed_;
};

}  // namespace podcache::store
