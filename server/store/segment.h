// What is known of one segment of the log, beside its memory.
//
// Threads: `line` changes while the segment is free only. The links, `candidate`, `listed_dead`,
// `forgotten_until` and the transitions of `state` are under the log's mutex; the rest are atomics.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/memory/segment_pool.h"

namespace podcache::store {

using memory::kNoSegment;

enum class SegmentState : std::uint8_t {
  kFree,
  kOpen,        // Room is still being reserved in it.
  kSealed,      // Waits in line for eviction.
  kReclaiming,  // Its items are being moved or evicted.
  kDraining,    // Empty, but a reader still sends from it.
};

// Which queue it waits in: the one that new items enter, or that of items used again.
enum class Line : std::uint8_t { kSmall, kMain };
inline constexpr std::size_t kLines = 2;

struct alignas(64) Segment {
  std::atomic<SegmentState> state{SegmentState::kFree};
  std::atomic<Line> line{Line::kSmall};
  // May have records of large items or pieces of their values.
  std::atomic<bool> holds_large{false};
  bool candidate : 1 = false;
  bool listed_dead : 1 = false;
  std::atomic<std::uint32_t> tail{0};     // Bytes reserved; the whole segment once sealed.
  std::atomic<std::uint32_t> dead{0};     // Bytes of records nobody can find any more.
  std::atomic<std::uint32_t> padding{0};  // Bytes that never held a record.
  std::atomic<std::uint32_t> writers{0};
  std::atomic<std::uint32_t> readers{0};
  // Of the live items, never 0; kNoExptime if none expires. Only a lower bound: items may have gone
  // since.
  std::atomic<std::uint32_t> earliest_exptime{0};
  std::atomic<std::uint32_t> flush_epoch{0};
  // Place in its line: how many had been opened at the head by then; wraps.
  std::atomic<std::uint32_t> opened{0};
  std::uint32_t previous = kNoSegment;
  std::uint32_t next = kNoSegment;
  std::uint32_t next_candidate = kNoSegment;
  std::uint32_t next_dead = kNoSegment;
  // Its items' uses were forgotten when main was to be drained up to here (OldestChoice).
  std::uint32_t forgotten_until = 0;
  // Log position of the segment's first unit: position of a record = this + its offset in units.
  // Never used twice.
  std::atomic<std::uint64_t> first_position{0};

  static constexpr std::uint32_t kNoExptime = UINT32_MAX;
  // Acquire: who sees here that nothing lives any more also sees the locks under which it died.
  std::uint32_t live_bytes() const noexcept {
    const std::uint32_t gone = dead.load(std::memory_order_acquire);
    return tail.load(std::memory_order_relaxed) - gone - padding.load(std::memory_order_relaxed);
  }
};
static_assert(sizeof(Segment) == 64);

}  // namespace podcache::store
