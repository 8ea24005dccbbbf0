// What segments are compared with: textbook policies that decide item by item.
//
// Threads: one owner.
#pragma once

#include <memory>

#include "tests/benchmark/simulate/cache_model.h"

namespace podcache::bench {

std::unique_ptr<CacheModel> NewLruModel(const ModelPlan& plan);
std::unique_ptr<CacheModel> NewFifoModel(const ModelPlan& plan);
// J. Yang et al.: FIFO queues are all you need for cache eviction (2023), with exact ghosts, as
// many as main holds items.
std::unique_ptr<CacheModel> NewS3FifoModel(const ModelPlan& plan);

}  // namespace podcache::bench
