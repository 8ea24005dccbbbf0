#include "server/session.h"

#include "server/command/admin_command.h"
#include "server/worker_session.h"

namespace podcache {

namespace {

class SessionFactory final : public net::RequestHandlerFactory {
 public:
  SessionFactory(store::Store& store, metrics::CounterRegistry& counters,
                 command::ServerContext& context, const Clock& clock,
                 const command::CommandOptions& options)
      : store_(store),
        counters_(counters),
        clock_(clock),
        requests_per_turn_(options.requests_per_turn),
        admin_(store, counters, context, clock, options) {}

  std::unique_ptr<net::WorkerHandler> NewWorker() override {
    return std::make_unique<WorkerSession>(store_, counters_, admin_, clock_, requests_per_turn_);
  }

 private:
  store::Store& store_;
  metrics::CounterRegistry& counters_;
  const Clock& clock_;
  const std::uint32_t requests_per_turn_;
  command::AdminCommand admin_;
};

}  // namespace

std::unique_ptr<net::RequestHandlerFactory> NewSessionFactory(
    store::Store& store, metrics::CounterRegistry& counters, command::ServerContext& context,
    const Clock& clock, const command::CommandOptions& options) {
  return std::make_unique<SessionFactory>(store, counters, context, clock, options);
}

}  // namespace podcache
