// Notices that other items have become popular than those that the main line holds.
//
// While popularity stays, what is asked for again soon is in main already: of what was stored a
// short while ago hardly anything has been used. When other items become popular at a stroke, they
// come in anew and many are used at once. A scan raises misses too, but not that. So the share of
// used items in young segments is compared with what it usually is (docs/designs/0005-eviction.md:
// in all traces 2 % at most, ten times as much after a shift).
//
// Threads: one owner. Counts are of items, and decay from look to look.
#pragma once

#include <algorithm>
#include <cstdint>

namespace podcache::store {

class ShiftDetector {
 public:
  // What was found in one young segment, of a log of so many. True: popularity has shifted; that is
  // then to be confirmed or refuted.
  bool Add(std::uint32_t items, std::uint32_t used, std::uint32_t segments) noexcept {
    recent_.Add(items, used, kRecentLooks);
    ++looks_;
    const double expected = usual_.used / std::max(usual_.items, 1.0) * recent_.items;
    usual_.Add(items, used, kUsualLooks);
    if (looks_ <= std::uint64_t{segments} * pause_) return false;
    if (recent_.used <= kFactor * expected + kMinUsed) return false;
    looks_ = 0;
    return true;
  }
  void Confirm() noexcept { pause_ = 1; }
  // What was taken for a shift was none: who errs often asks more rarely.
  void Refute() noexcept { pause_ = std::min(2 * pause_, kMaxPause); }

 private:
  struct Average {
    double items = 0;
    double used = 0;
    void Add(std::uint32_t more_items, std::uint32_t more_used, double looks) noexcept {
      items += more_items - items / looks;
      used += more_used - used / looks;
    }
  };

  static constexpr double kRecentLooks = 4;
  static constexpr double kUsualLooks = 64;
  static constexpr double kFactor = 3;
  // So that a handful of items is not taken for many.
  static constexpr double kMinUsed = 12;
  static constexpr std::uint32_t kMaxPause = 16;

  Average recent_;
  Average usual_;
  std::uint64_t looks_ = 0;  // Since the last shift, or the first look.
  // So many logs full of new items go by between two shifts: as long as the first takes.
  std::uint32_t pause_ = 1;
};

}  // namespace podcache::store
