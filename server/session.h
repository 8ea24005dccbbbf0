// Joins sockets to the cache: behind net's interfaces stand the text parser, the command executor
// and a store session.
//
// Threads: the factory may be called from any thread; what it makes follows the rules of
// net/request_handler.h. Ownership: everything passed in outlives the factory, the factory outlives
// the workers it made.
#pragma once

#include <memory>

#include "common/base/clock.h"
#include "server/command/command_options.h"
#include "server/command/server_context.h"
#include "server/metrics/worker_counters.h"
#include "server/net/request_handler.h"
#include "server/store/store.h"

namespace podcache {

std::unique_ptr<net::RequestHandlerFactory> NewSessionFactory(
    store::Store& store, metrics::CounterRegistry& counters, command::ServerContext& context,
    const Clock& clock, const command::CommandOptions& options);

}  // namespace podcache
