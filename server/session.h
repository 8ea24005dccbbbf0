// Joins sockets to the cache: behind net's interfaces stand the text parser, the command executor
// and a store session.
//
// Threads: the factory may be called from any thread; what it makes follows the rules of
// net/request_handler.h. Ownership: everything passed in outlives the factory, the factory outlives
// the workers it made.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "server/authenticator.h"
#include "server/command/command_options.h"
#include "server/command/server_context.h"
#include "server/metrics/worker_counters.h"
#include "server/net/request_handler.h"
#include "server/store/store.h"
#include "server/watch/watch_hub.h"

namespace podcache {

// What sessions have beside the cache; without one of them its feature does not exist.
struct SessionFeatures {
  const Authenticator* authenticator = nullptr;  // Set: a connection must authenticate.
  watch::WatchHub* watch = nullptr;
};

std::unique_ptr<net::RequestHandlerFactory> NewSessionFactory(
    store::Store& store, metrics::CounterRegistry& counters, command::ServerContext& context,
    const Clock& clock, const command::CommandOptions& options,
    const SessionFeatures& features = {});

}  // namespace podcache
