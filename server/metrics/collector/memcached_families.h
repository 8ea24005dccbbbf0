// The memcached_ family: names, types and labels of prometheus/memcached_exporter 0.16, so that its
// dashboards and alerts work unchanged. Each value is that of the `stats` key of the same meaning,
// since start of the process.
//
// Threads: pure functions. Source: the exporter's metric table.
#pragma once

#include "server/metrics/collector/counter_totals.h"
#include "server/metrics/collector/family_list.h"
#include "server/metrics/collector/snapshot.h"

namespace podcache::metrics {

// set/hit is what is left of cmd_set when everything that cas did is taken away. The parts are read
// one after the other while workers write: the caller keeps the largest value seen, because a
// counter must not fall.
std::uint64_t PlainSets(const CounterTotals& totals);

std::vector<prometheus::MetricFamily> MemcachedFamilies(const ServerSnapshot& snapshot,
                                                        const CounterTotals& totals,
                                                        std::uint64_t plain_sets);

}  // namespace podcache::metrics
