// Sizes and expiry of what a model holds.
#pragma once

#include <cstdint>
#include <limits>

#include "tests/benchmark/simulate/cache_model.h"

namespace podcache::bench {

inline std::uint32_t RecordBytes(const ModelPlan& plan, const TraceRequest& request) {
  const std::uint32_t exptime = request.ttl_seconds != 0 ? 4 : 0;
  const std::uint32_t bytes =
      plan.overhead_bytes + exptime + request.key_bytes + request.value_bytes;
  return (bytes + plan.unit_bytes - 1) / plan.unit_bytes * plan.unit_bytes;
}

inline double ExpiryOf(const TraceRequest& request) {
  return request.ttl_seconds == 0 ? std::numeric_limits<double>::infinity()
                                  : request.seconds + request.ttl_seconds;
}

}  // namespace podcache::bench
