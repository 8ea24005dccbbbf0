// A cache that exists as arithmetic only: no values, just which items it would hold. Traces are
// replayed against it (load/replay.h) as against a server.
//
// Threads: one owner. Sizes in bytes; time is the trace's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tests/benchmark/load/replay.h"
#include "tests/benchmark/load/trace.h"

namespace podcache::bench {

struct ModelFigures {
  std::uint64_t items = 0;
  std::uint64_t set_bytes = 0;     // Records that clients stored.
  std::uint64_t copied_bytes = 0;  // Records that were moved to make room.
  std::uint64_t evicted_items = 0;
  std::uint64_t promoted_items = 0;  // From the small queue to the main one.
  std::uint64_t ghost_hits = 0;      // Stored again soon after they were evicted.
  std::uint64_t shifts = 0;          // Times that popularity seemed to shift at a stroke.
  // Mean over the run, of what is held.
  double dead_share = 0;
  double expired_share = 0;
};

inline constexpr unsigned kMaxTtlClasses = 16;

// How the cache is made up. What a model does not have it ignores.
struct ModelPlan {
  std::uint64_t capacity_bytes = std::uint64_t{64} << 20;
  std::uint32_t overhead_bytes = 8;  // Of a record beside key and value.
  std::uint32_t index_bytes = 11;    // Of an item, apart from its record.
  std::uint32_t unit_bytes = 8;      // Records are rounded up to this.
  std::uint32_t segment_bytes = 0;   // 0: as the store would choose.
  double small_share = 0.1;          // Of the capacity; 0: a single queue.
  unsigned promote_uses = 1;         // In the small queue, to be moved to the main one.
  unsigned ghost_bits = 8;           // Of a fingerprint.
  unsigned ghost_ways = 4;           // Fingerprints for each bucket of seven items; 0: none.
  bool ghosts_to_main = false;       // An item with a ghost starts in main, not marked as used.
  unsigned ghost_uses = 1;           // What it is marked with otherwise.
  unsigned window = 1;               // Main segments of which the coldest is taken.
  unsigned kept_percent = 75;        // Of what lives in reclaimed segments, on average.
  bool reset = false;                // Uses of a kept item are forgotten, not lowered by one.
  bool watch_shifts = true;          // Main is drained when popularity shifts at a stroke.
  unsigned ttl_classes = 0;          // Segments for items that live about equally long.
  double sweep_seconds = 0;          // Between looks for expired items; 0: never.
};

class CacheModel : public ReplayCache {
 public:
  void Get(std::span<const TraceRequest> requests, std::vector<bool>& found) override;
  void Change(std::span<const TraceRequest> requests) override;
  virtual ModelFigures figures() const = 0;

 protected:
  // Whether it is there, which counts as a use.
  virtual bool Use(const TraceRequest& request) = 0;
  virtual void Store(const TraceRequest& request) = 0;
  virtual void Remove(std::uint64_t key) = 0;
};

std::string ModelHelp();
// Throws Failure if there is none of this name.
std::unique_ptr<CacheModel> NewModel(std::string_view name, const ModelPlan& plan);

}  // namespace podcache::bench
