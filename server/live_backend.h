// The admin API's view of the running server: joins the live settings, the workers, the store and
// the counters.
//
// Threads: any; takes no lock of the data path. Ownership: all parts outlive this.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "server/admin/backend.h"
#include "server/metrics/collector/snapshot.h"

namespace podcache::command {
class ServerContext;
}
namespace podcache::metrics {
class CounterRegistry;
}
namespace podcache::net {
class WorkerPool;
}
namespace podcache::store {
class Store;
}

namespace podcache::server {

class RuntimeConfig;

struct LiveParts {
  store::Store& store;
  net::WorkerPool& pool;
  RuntimeConfig& runtime;
  metrics::CounterRegistry& counters;
  const command::ServerContext& context;
  const Clock& clock;
};

std::unique_ptr<admin::Backend> NewLiveBackend(const LiveParts& parts);

// For the collector: called once per scrape.
metrics::SnapshotSource NewLiveSnapshotSource(const LiveParts& parts);

}  // namespace podcache::server
