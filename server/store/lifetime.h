// How long items live, roughly: those that live about equally long lie in segments of their own, so
// that a segment dies as a whole instead of getting holes that cost room and copies
// (docs/designs/0005-eviction.md).
#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>

#include "server/store/item.h"

namespace podcache::store {

// 0: for ever; then below 64, 256 and 1024 seconds, and longer.
using Lifetime = std::uint32_t;
inline constexpr Lifetime kForever = 0;
inline constexpr Lifetime kLifetimes = 5;

// `now` may be an access stamp of then, seconds modulo 2^20.
constexpr Lifetime LifetimeOf(std::uint32_t exptime, std::uint32_t now) noexcept {
  if (exptime == 0) return kForever;
  const auto seconds = (exptime - now) & static_cast<std::uint32_t>(header::kAccessMask);
  const auto fours = static_cast<Lifetime>(std::bit_width(seconds | 1) - 1) / 2;
  return std::clamp<Lifetime>(fours, 2, kLifetimes) - 1;
}
static_assert(LifetimeOf(0, 1000) == kForever);
static_assert(LifetimeOf(1063, 1000) == 1 && LifetimeOf(1064, 1000) == 2);
static_assert(LifetimeOf(1255, 1000) == 2 && LifetimeOf(1256, 1000) == 3);
static_assert(LifetimeOf(2023, 1000) == 3 && LifetimeOf(2024, 1000) == 4);
static_assert(LifetimeOf(1000 + 86400, 1000) == 4);

}  // namespace podcache::store
