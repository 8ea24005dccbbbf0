// Who survives when a segment is reclaimed to make room, and which segment that is.
//
// Frequency: uses since the item was stored or last judged, 0 to Slot::kMaxFrequency. A line is a
// queue of segments; new items are appended to the first one.
#pragma once

#include <cstddef>
#include <cstdint>

#include "server/store/segment.h"

namespace podcache::store {

enum class EvictionKind : std::uint8_t {
  // What is new and not used leaves soon, through a small queue; what was used goes to a main
  // queue, round and round as long as it is used. An item that comes back soon after it was evicted
  // counts as used (docs/designs/0005-eviction.md).
  kS3Fifo,
  // One queue. An item used since it was last judged goes to the head once more; it must be used
  // again to stay after that.
  kSecondChance,
  // One queue. Everything goes, in the order it came.
  kFifo,
};

class EvictionPolicy {
 public:
  explicit constexpr EvictionPolicy(EvictionKind kind) noexcept : kind_(kind) {}

  constexpr EvictionKind kind() const noexcept { return kind_; }
  // Where kept items go.
  constexpr Line kept_line() const noexcept {
    return kind_ == EvictionKind::kS3Fifo ? Line::kMain : Line::kSmall;
  }
  // Of all segments, in the first line; above, that is where the next one is taken from.
  constexpr std::uint32_t small_percent() const noexcept {
    return kind_ == EvictionKind::kS3Fifo ? 10 : 0;
  }
  // Whether main gives way at once when other items become popular.
  constexpr bool WatchesPopularity() const noexcept { return kind_ == EvictionKind::kS3Fifo; }
  constexpr bool Keeps(unsigned frequency) const noexcept {
    return kind_ != EvictionKind::kFifo && frequency > 0;
  }
  // Of an item that is kept.
  constexpr unsigned FrequencyAfter(Line line, unsigned frequency) const noexcept {
    return kind_ == EvictionKind::kS3Fifo && line == Line::kMain ? frequency - 1 : 0;
  }
  // Whether an evicted item is remembered.
  constexpr bool LeavesGhost(Line line) const noexcept {
    return kind_ == EvictionKind::kS3Fifo && line == Line::kSmall;
  }

 private:
  EvictionKind kind_;
};

}  // namespace podcache::store
