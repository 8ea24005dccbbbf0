// Tells those who watch evictions of them; the store's observer.
//
// Threads: as eviction_observer.h says. Ownership: hub and clock outlive it, and it the store.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "server/store/eviction_observer.h"
#include "server/watch/watch_hub.h"

namespace podcache::command {

class WatchedEvictions final : public store::EvictionObserver {
 public:
  WatchedEvictions(watch::WatchHub& hub, const Clock& clock);

  bool Wants() const noexcept override { return (hub_.streams() & protocol::kEvictions) != 0; }
  void OnEvicted(const store::EvictedItem& item) noexcept override;

 private:
  watch::WatchHub& hub_;
  const Clock& clock_;
  std::unique_ptr<watch::EventBuffer> buffer_;
};

}  // namespace podcache::command
