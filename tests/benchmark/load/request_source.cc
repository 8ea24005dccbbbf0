#include "tests/benchmark/load/request_source.h"

#include <utility>

namespace podcache::bench {

ItemPicker::ItemPicker(std::uint64_t items, double zipf_exponent, std::uint64_t seed)
    : items_(items), random_(seed) {
  if (zipf_exponent > 0) zipf_.emplace(items, zipf_exponent);
}

CycleSource::CycleSource(const Items& items, const Workload& workload, ItemPicker picker,
                         std::uint32_t phase)
    : picker_(std::move(picker)),
      cycle_(workload.sets + workload.gets),
      pipeline_(workload.pipeline),
      phase_(phase % cycle_) {
  for (std::uint32_t first = 0; first < cycle_; ++first) {
    std::vector<RequestShape> requests;
    for (std::uint32_t i = 0; i < workload.pipeline; ++i) {
      const bool set = (first + i) % cycle_ < workload.sets;
      requests.push_back(set ? RequestShape{Verb::kSet, 1}
                             : RequestShape{Verb::kGet, workload.keys_per_get});
    }
    by_phase_.emplace_back(items, std::move(requests), workload.value_bytes);
  }
}

bool CycleSource::Next(Batch& batch) {
  batch = by_phase_[phase_].Fill([this] { return picker_.Next(); },
                                 [this] { return picker_.NextVariant(); });
  phase_ = (phase_ + pipeline_) % cycle_;
  return true;
}

EveryItemSource::EveryItemSource(const Items& items, RequestShape request, std::uint32_t pipeline,
                                 std::size_t value_bytes, std::uint64_t first, std::uint64_t end)
    : full_(items, std::vector<RequestShape>(pipeline, request), value_bytes),
      single_(items, {RequestShape{request.verb, 1}}, value_bytes),
      next_(first),
      end_(end) {}

bool EveryItemSource::Next(Batch& batch) {
  if (next_ == end_) return false;
  BatchTemplate& used = end_ - next_ >= full_.key_count() ? full_ : single_;
  batch = used.Fill([this] { return next_++; }, [] { return 0U; });
  return true;
}

}  // namespace podcache::bench
