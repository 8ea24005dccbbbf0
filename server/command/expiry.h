// What a client means by its exptime.
#pragma once

#include <cstdint>

#include "server/store/store.h"

namespace podcache::command {

// Up to this an exptime counts from now, above it is Unix time (protocol.md 1).
inline constexpr std::int64_t kMaxRelativeSeconds = 30LL * 24 * 60 * 60;

// The absolute time the store wants. Negative and past ones have expired already.
constexpr std::int64_t AbsoluteExptime(std::int64_t exptime, std::int64_t now_seconds) noexcept {
  if (exptime == 0) return store::kNeverExpires;
  if (exptime < 0) return store::kExpiredImmediately;
  if (exptime <= kMaxRelativeSeconds) return now_seconds + exptime;
  return exptime > now_seconds ? exptime : store::kExpiredImmediately;
}

// What is left of a stored exptime, as replies show it: -1 for ever.
constexpr std::int64_t SecondsLeft(std::int64_t exptime, std::int64_t now_seconds) noexcept {
  if (exptime == store::kNeverExpires) return -1;
  return exptime > now_seconds ? exptime - now_seconds : 0;
}

}  // namespace podcache::command
