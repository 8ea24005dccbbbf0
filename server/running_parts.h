// The parts of a running server, for whoever looks in from outside: the admin API, the collector.
//
// Threads: each part guards itself. Ownership: the server owns all of them; they outlive the side
// doors' Stop().
#pragma once

#include "common/base/clock.h"

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

struct RunningParts {
  store::Store& store;
  net::WorkerPool& pool;
  RuntimeConfig& runtime;
  metrics::CounterRegistry& counters;
  const command::ServerContext& context;
  const Clock& clock;
};

}  // namespace podcache::server
