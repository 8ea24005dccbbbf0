// A key with its hash: hashed once per request, by the store's own seeded function.
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::store {

inline constexpr std::size_t kMaxKeyBytes = 250;

// Views the caller's bytes; never outlives them.
struct Key {
  std::string_view bytes;
  std::uint64_t hash = 0;
};

}  // namespace podcache::store
