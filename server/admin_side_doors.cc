// The admin module behind the server's seam.
#include <cstdlib>
#include <utility>

#include "common/http/listen_address.h"
#include "server/admin/admin_servers.h"
#include "server/admin/log_limiter.h"
#include "server/live_backend.h"
#include "server/log.h"
#include "server/metrics/collector/metrics_collector.h"
#include "server/options.h"
#include "server/side_doors.h"

namespace podcache::server {

namespace {

std::string Environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

class AdminSideDoors final : public SideDoors {
 public:
  explicit AdminSideDoors(const Options& options) : options_(options) {}

  bool Check(std::string& error) override {
    if (!admin::ReadAdminTrust(Environment("PODCACHE_ADMIN_CA"),
                               Environment("PODCACHE_ADMIN_IDENTITY"), &trust_, &error)) {
      return false;
    }
    for (const std::string& text : options_.admin_listen) {
      std::string reason;
      const auto address = http::ParseListenAddress(text, &reason);
      if (!address || address->is_loopback() || trust_.given()) continue;
      error =
          "--admin-listen: " + text +
          " can be reached by others, which needs PODCACHE_ADMIN_CA and PODCACHE_ADMIN_IDENTITY";
      return false;
    }
    return true;
  }

  bool Start(std::string& error) override {
    admin::AdminOptions wanted;
    if (!options_.http_listen.empty()) wanted.http_addresses.push_back(options_.http_listen);
    wanted.grpc_addresses = options_.admin_listen;
    wanted.trust = trust_;
    admin::RouteGrpcLog([](const std::string& line) { LogWarning("admin API: " + line); });
    servers_ = admin::AdminServers::Start(wanted, &error);
    if (servers_ != nullptr || !options_.http_listen_is_default) return servers_ != nullptr;
    // Nobody asked for this port: several servers on one machine must be able to start without
    // options, as memcached does.
    LogWarning("HTTP endpoint is off: " + error);
    error.clear();
    wanted.http_addresses.clear();
    servers_ = admin::AdminServers::Start(wanted, &error);
    return servers_ != nullptr;
  }

  bool Serve(const RunningParts& parts, std::string& error) override {
    backend_ = NewLiveBackend(parts);
    collector_ =
        std::make_unique<metrics::MetricsCollector>(parts.counters, NewLiveSnapshotSource(parts));
    if (servers_->Serve(*backend_, *collector_, parts.clock.WallSeconds(), &error)) return true;
    if (!options_.admin_listen_is_default) return false;
    LogWarning("Admin API is off: " + error);
    error.clear();
    return true;
  }

  void SetReady(bool ready) override {
    if (servers_ != nullptr) servers_->SetReady(ready);
  }
  void Stop() override {
    if (servers_ != nullptr) servers_->Stop();
  }

 private:
  const Options& options_;
  admin::AdminTrust trust_;
  std::unique_ptr<admin::Backend> backend_;
  std::unique_ptr<metrics::MetricsCollector> collector_;
  std::unique_ptr<admin::AdminServers> servers_;
};

}  // namespace

std::unique_ptr<SideDoors> NewSideDoors(const Options& options) {
  return std::make_unique<AdminSideDoors>(options);
}

}  // namespace podcache::server
