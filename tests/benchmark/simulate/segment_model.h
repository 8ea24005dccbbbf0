// The store's log of segments as a model: what is evicted is decided when a whole segment is
// emptied.
//
// Two queues of segments, small for what is new and main for what was used again; or one.
//
// Threads: one owner.
#pragma once

#include <memory>

#include "tests/benchmark/simulate/cache_model.h"

namespace podcache::bench {

std::unique_ptr<CacheModel> NewSegmentModel(const ModelPlan& plan);

}  // namespace podcache::bench
