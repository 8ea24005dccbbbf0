// Who survives when the oldest segment is reclaimed. Policies are types; Reclaimer is instantiated
// for them in one place.
//
// Frequency: uses since the item was stored or last judged, 0 to Slot::kMaxFrequency.
#pragma once

#include <cstddef>

namespace podcache::store {

// Everything goes, in the order it came.
struct FifoPolicy {
  static constexpr bool Keep(unsigned /*frequency*/) noexcept { return false; }
  static constexpr unsigned FrequencyAfterKeep(unsigned /*frequency*/) noexcept { return 0; }
};

// An item used since it was last judged goes to the head once more; it must be used again to stay
// after that.
struct SecondChancePolicy {
  static constexpr bool Keep(unsigned frequency) noexcept { return frequency > 0; }
  static constexpr unsigned FrequencyAfterKeep(unsigned /*frequency*/) noexcept { return 0; }
};

}  // namespace podcache::store
