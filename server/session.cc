#include "server/session.h"

#include "server/command/admin_command.h"
#include "server/worker_session.h"

namespace podcache {

namespace {

class SessionFactory final : public net::RequestHandlerFactory {
 public:
  SessionFactory(store::Store& store, metrics::CounterRegistry& counters,
                 command::ServerContext& context, const Clock& clock,
                 const command::CommandOptions& options, const SessionFeatures& features)
      : store_(store),
        counters_(counters),
        clock_(clock),
        options_(options),
        features_(features),
        admin_(store, counters, context, clock, options) {}

  std::unique_ptr<net::WorkerHandler> NewWorker() override {
    return std::make_unique<WorkerSession>(store_, counters_, admin_, clock_, options_, features_);
  }

 private:
  store::Store& store_;
  metrics::CounterRegistry& counters_;
  const Clock& clock_;
  const command::CommandOptions options_;
  const SessionFeatures features_;
  command::AdminCommand admin_;
};

}  // namespace

std::unique_ptr<net::RequestHandlerFactory> NewSessionFactory(
    store::Store& store, metrics::CounterRegistry& counters, command::ServerContext& context,
    const Clock& clock, const command::CommandOptions& options, const SessionFeatures& features) {
  return std::make_unique<SessionFactory>(store, counters, context, clock, options, features);
}

}  // namespace podcache
