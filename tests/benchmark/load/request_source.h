// Where a connection's requests come from: endless random ones of a workload, or every item once.
//
// Threads: one owner, the thread of the connections it feeds.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "tests/benchmark/load/batch.h"
#include "tests/benchmark/load/items.h"
#include "tests/benchmark/load/random.h"
#include "tests/benchmark/load/workload.h"
#include "tests/benchmark/load/zipf.h"

namespace podcache::bench {

class RequestSource {
 public:
  virtual ~RequestSource() = default;
  // False: there is nothing more to ask for.
  virtual bool Next(Batch& batch) = 0;
};

// Evenly, or the lower numbers more often.
class ItemPicker {
 public:
  // zipf_exponent 0: evenly.
  ItemPicker(std::uint64_t items, double zipf_exponent, std::uint64_t seed);

  std::uint64_t Next() noexcept { return zipf_ ? zipf_->Next(random_) - 1 : random_.Below(items_); }
  std::uint32_t NextVariant() noexcept {
    return static_cast<std::uint32_t>(random_.Below(Items::kVariants));
  }

 private:
  const std::uint64_t items_;
  Random random_;
  std::optional<Zipf> zipf_;
};

// The requests of a workload, round and round its cycle.
class CycleSource final : public RequestSource {
 public:
  // `phase`: at which request of the cycle it begins.
  CycleSource(const Items& items, const Workload& workload, ItemPicker picker, std::uint32_t phase);

  bool Next(Batch& batch) override;

 private:
  ItemPicker picker_;
  std::uint32_t cycle_;
  std::uint32_t pipeline_;
  std::uint32_t phase_;
  std::vector<BatchTemplate> by_phase_;  // One for each request that a batch may begin with.
};

// Items first … end − 1, each once: sets, or gets of several keys.
class EveryItemSource final : public RequestSource {
 public:
  EveryItemSource(const Items& items, RequestShape request, std::uint32_t pipeline,
                  std::size_t value_bytes, std::uint64_t first, std::uint64_t end);

  bool Next(Batch& batch) override;

 private:
  BatchTemplate full_;
  BatchTemplate single_;  // For what does not fill a batch.
  std::uint64_t next_;
  std::uint64_t end_;
};

}  // namespace podcache::bench
