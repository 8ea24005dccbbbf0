// The podcache_ family: our own metrics. Free to grow, never renamed; every series whose labels can be known is there from the
// start, at zero.
//
// Threads: pure functions. Source: docs/reference/metrics.md lists names, types and labels.
#pragma once

#include "server/metrics/collector/counter_totals.h"
#include "server/metrics/collector/family_list.h"
#include "server/metrics/collector/snapshot.h"

namespace podcache::metrics {

// Evictions for want of room: all of them less those of a shrinking budget. As with PlainSets the caller keeps the largest.
std::uint64_t CapacityEvictions(const store::StoreStats& store);

std::vector<prometheus::MetricFamily> PodcacheFamilies(const ServerSnapshot& snapshot,
                                                       const CounterTotals& totals,
                                                       std::uint64_t capacity_evictions);

}  // namespace podcache::metrics
