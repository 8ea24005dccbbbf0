// What became of items when room was made for others.
//
// Threads: ReclaimCounters, any; a ReclaimTally has one owner, who tells the counters from time to
// time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "server/store/item_table.h"

namespace podcache::store {

// What items were evicted for.
enum class EvictionCause : std::uint8_t { kCapacity, kShrink };
inline constexpr std::size_t kEvictionCauses = 2;

struct ReclaimCounters {
  struct Evicted {
    std::atomic<std::uint64_t> items{0};
    std::atomic<std::uint64_t> bytes{0};
  };
  const Evicted& Of(Line line, EvictionCause cause) const noexcept {
    return evicted[static_cast<std::size_t>(line)][static_cast<std::size_t>(cause)];
  }
  std::uint64_t EvictedItems(EvictionCause cause) const noexcept {
    return Of(Line::kSmall, cause).items.load(std::memory_order_relaxed) +
           Of(Line::kMain, cause).items.load(std::memory_order_relaxed);
  }
  std::uint64_t EvictedItems() const noexcept {
    return EvictedItems(EvictionCause::kCapacity) + EvictedItems(EvictionCause::kShrink);
  }

  std::array<std::array<Evicted, kEvictionCauses>, kLines> evicted;
  std::atomic<std::uint64_t> evicted_unfetched_items{0};
  // Used since they were last judged, and worth keeping, had there been room.
  std::atomic<std::uint64_t> evicted_active_items{0};
  std::atomic<std::uint64_t> kept_items{0};  // By a second chance.
  std::atomic<std::uint64_t> evicted_with_exptime_items{0};
  std::atomic<std::uint64_t> last_evicted_idle_seconds{0};
  std::atomic<std::uint64_t> copied_bytes{0};
  // Expired items found by a sweep, and in a segment that was reclaimed.
  std::atomic<std::uint64_t> expired_in_sweep_items{0};
  std::atomic<std::uint64_t> expired_in_segment_items{0};
  std::atomic<std::uint64_t> swept_items{0};
  std::atomic<std::uint64_t> sweeps{0};
  std::atomic<std::uint64_t> compacted_segments{0};
  std::atomic<std::uint64_t> shifts{0};          // Of popularity, that began to drain main.
  std::atomic<std::uint64_t> refuted_shifts{0};  // Main proved to be popular still.
};

class ReclaimTally {
 public:
  // An item that is still there. `active`: worth keeping, had there been room.
  void AddEvicted(ItemTable& table, const Found& found, bool active, std::uint32_t now) noexcept {
    const Line line = table.log().LineOf(table.log().SegmentOf(found.location));
    AddEvictedUnread(line, (found.header & header::kFetched) != 0, active);
    AddEvictedBytes(line, table.ItemBytes(found));
    if (found.record.Exptime(found.header) != 0) ++with_exptime_;
    idle_seconds_ = Record::IdleSecondsOf(found.header, now);
  }
  // Its bytes are told later, or for many at once.
  void AddEvictedUnread(Line line, bool fetched, bool active) noexcept {
    ++evicted_[static_cast<std::size_t>(line)].items;
    if (!fetched) ++unfetched_;
    if (active) ++active_;
  }
  void AddEvictedBytes(Line line, std::size_t bytes) noexcept {
    evicted_[static_cast<std::size_t>(line)].bytes += bytes;
  }
  void SetIdleSeconds(std::uint32_t seconds) noexcept { idle_seconds_ = seconds; }
  void AddCopied(std::size_t bytes) noexcept { copied_bytes_ += bytes; }
  void AddKept() noexcept { ++kept_; }
  void AddExpired() noexcept { ++expired_; }

  // All since the last time.
  void TellTo(ReclaimCounters& counters, EvictionCause cause) noexcept {
    std::uint64_t items = 0;
    for (std::size_t line = 0; line < kLines; ++line) {
      ReclaimCounters::Evicted& evicted = counters.evicted[line][static_cast<std::size_t>(cause)];
      Add(evicted.items, evicted_[line].items);
      Add(evicted.bytes, evicted_[line].bytes);
      items += evicted_[line].items;
    }
    Add(counters.evicted_unfetched_items, unfetched_);
    Add(counters.evicted_active_items, active_);
    Add(counters.evicted_with_exptime_items, with_exptime_);
    Add(counters.kept_items, kept_);
    Add(counters.copied_bytes, copied_bytes_);
    Add(counters.expired_in_segment_items, expired_);
    if (items != 0)
      counters.last_evicted_idle_seconds.store(idle_seconds_, std::memory_order_relaxed);
    *this = {};
  }

 private:
  struct Evicted {
    std::uint64_t items = 0;
    std::uint64_t bytes = 0;
  };

  static void Add(std::atomic<std::uint64_t>& counter, std::uint64_t n) noexcept {
    if (n != 0) counter.fetch_add(n, std::memory_order_relaxed);
  }

  std::array<Evicted, kLines> evicted_{};
  std::uint64_t unfetched_ = 0;
  std::uint64_t active_ = 0;
  std::uint64_t with_exptime_ = 0;
  std::uint64_t kept_ = 0;
  std::uint64_t expired_ = 0;
  std::uint64_t copied_bytes_ = 0;
  std::uint32_t idle_seconds_ = 0;  // Of the one evicted last.
};

}  // namespace podcache::store
