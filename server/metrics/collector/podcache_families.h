// The podcache_ family: our own metrics. Free to grow, never renamed; every series whose labels can
// be known is there from the start, at zero.
//
// Threads: pure functions. Source: docs/reference/metrics.md lists names, types and labels.
#pragma once

#include "server/metrics/collector/counter_totals.h"
#include "server/metrics/collector/family_list.h"
#include "server/metrics/collector/snapshot.h"

namespace podcache::metrics {

// Counters that are differences of the store's: read one after the other while the store works, so
// that one may come out lower than before. As with PlainSets the caller keeps the largest seen.
struct StoreDifferences {
  static StoreDifferences Of(const store::StoreStats& store);

  std::uint64_t expired_when_read_items = 0;
};

std::vector<prometheus::MetricFamily> PodcacheFamilies(const ServerSnapshot& snapshot,
                                                       const CounterTotals& totals,
                                                       const StoreDifferences& differences);

}  // namespace podcache::metrics
