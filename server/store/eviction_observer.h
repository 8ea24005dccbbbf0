// Told of every item that is evicted, while it wants to be.
//
// Threads: called by whichever thread reclaims, one at a time, without a partition's lock. It must
// not call the store. Ownership: outlives the store.
#pragma once

#include <cstdint>
#include <string_view>

namespace podcache::store {

struct EvictedItem {
  std::string_view key;
  std::uint64_t value_bytes = 0;
  std::int64_t exptime = 0;  // Absolute; 0 = never.
  std::uint32_t idle_seconds = 0;
  bool fetched = false;
};

class EvictionObserver {
 public:
  virtual ~EvictionObserver() = default;
  // Asked first: while nobody wants to know, nothing is gathered.
  virtual bool Wants() const noexcept = 0;
  virtual void OnEvicted(const EvictedItem& item) noexcept = 0;
};

}  // namespace podcache::store
