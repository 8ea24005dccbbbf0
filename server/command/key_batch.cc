#include "server/command/key_batch.h"

#include <algorithm>

namespace podcache::command {

using metrics::Counter;

void KeyBatch::LookUp(store::ValueSink& sink) {
  const std::span<const store::Key> keys(keys_.data(), count_);
  const std::span<store::StoreStatus> statuses(statuses_.data(), count_);
  if (events_.watches(protocol::kFetchers)) {
    for (const store::Key& key : keys) events_.Lookup(key);
  }
  session_.Get(keys, options_, sink, statuses);
  Count(static_cast<std::size_t>(std::ranges::count(statuses, store::StoreStatus::kOk)));
  prefixes_.CountGets(keys, statuses);
}

void KeyBatch::Count(std::size_t hits) noexcept {
  const std::size_t misses = count_ - hits;
  if (options_.set_exptime) {
    counters_.Add(Counter::kCmdTouch, count_);
    counters_.Add(Counter::kTouchHits, hits);
    counters_.Add(Counter::kTouchMisses, misses);
    return;
  }
  counters_.Add(Counter::kCmdGet, count_);
  counters_.Add(Counter::kGetHits, hits);
  counters_.Add(Counter::kGetMisses, misses);
}

}  // namespace podcache::command
