// The admin API's view of the running server: joins the live settings, the workers, the store and
// the counters.
//
// Threads: any; takes no lock of the data path. Ownership: all parts outlive this.
#pragma once

#include <memory>

#include "server/admin/backend.h"
#include "server/metrics/collector/snapshot.h"
#include "server/running_parts.h"

namespace podcache::server {

std::unique_ptr<admin::Backend> NewLiveBackend(const RunningParts& parts);

// For the collector: called once per scrape.
metrics::SnapshotSource NewLiveSnapshotSource(const RunningParts& parts);

}  // namespace podcache::server
