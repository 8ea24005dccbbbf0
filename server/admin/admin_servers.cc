#include "server/admin/admin_servers.h"

#include <atomic>
#include <chrono>
#include <utility>

#include "common/http/endpoint.h"
#include "server/admin/grpc_endpoint.h"
#include "server/metrics/collector/metrics_collector.h"

namespace podcache::admin {

namespace {
// Together below the second that a stop may take.
constexpr std::chrono::milliseconds kGrpcGrace{400};
constexpr std::chrono::milliseconds kHttpGrace{300};
}  // namespace

class AdminServers::Impl {
 public:
  explicit Impl(AdminOptions options) : options_(std::move(options)) {}

  bool Start(std::string* error) {
    if (!GrpcEndpoint::Check(options_.grpc_addresses, options_.trust, error)) return false;
    if (options_.http_addresses.empty()) return true;
    http::EndpointOptions http;
    http.addresses = options_.http_addresses;
    http.grace = kHttpGrace;
    http.routes["/healthz"] = [] { return http::Response{200, "ok\n"}; };
    http.routes["/readyz"] = [this] {
      return ready_ ? http::Response{200, "ok\n"} : http::Response{503, "not ready\n"};
    };
    http.routes["/metrics"] = [this] { return Metrics(); };
    http_ = http::Endpoint::Start(std::move(http), error);
    return http_ != nullptr;
  }

  bool Serve(Backend& backend, const metrics::MetricsCollector& collector,
             std::int64_t now_unix_seconds, std::string* error) {
    // Metrics work also where the admin port cannot be had: the caller decides whether that ends
    // the server.
    collector_ = &collector;
    if (!options_.grpc_addresses.empty()) {
      grpc_ = GrpcEndpoint::Start(options_.grpc_addresses, options_.trust, backend,
                                  now_unix_seconds, error);
      if (!grpc_) return false;
      grpc_->SetReady(false);
    }
    return true;
  }

  void SetReady(bool ready) {
    ready_ = ready;
    if (grpc_) grpc_->SetReady(ready);
  }

  void Stop() {
    SetReady(false);
    if (grpc_) grpc_->Stop(kGrpcGrace);
    grpc_.reset();
    if (http_) http_->Stop();
    http_.reset();
  }

  std::vector<std::string> http_addresses() const {
    return http_ ? http_->bound_addresses() : std::vector<std::string>();
  }
  std::vector<int> grpc_ports() const { return grpc_ ? grpc_->ports() : std::vector<int>(); }

 private:
  http::Response Metrics() const {
    const metrics::MetricsCollector* collector = collector_;
    if (collector == nullptr) return {503, "starting\n"};
    return {200, collector->Render(), metrics::MetricsCollector::ContentType()};
  }

  const AdminOptions options_;
  // Read by the HTTP endpoint's thread.
  std::atomic<bool> ready_{false};
  std::atomic<const metrics::MetricsCollector*> collector_{nullptr};
  std::unique_ptr<http::Endpoint> http_;
  std::unique_ptr<GrpcEndpoint> grpc_;
};

std::unique_ptr<AdminServers> AdminServers::Start(AdminOptions options, std::string* error) {
  auto impl = std::make_unique<Impl>(std::move(options));
  if (!impl->Start(error)) return nullptr;
  return std::unique_ptr<AdminServers>(new AdminServers(std::move(impl)));
}

AdminServers::AdminServers(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
AdminServers::~AdminServers() { impl_->Stop(); }

bool AdminServers::Serve(Backend& backend, const metrics::MetricsCollector& collector,
                         std::int64_t now_unix_seconds, std::string* error) {
  return impl_->Serve(backend, collector, now_unix_seconds, error);
}
void AdminServers::SetReady(bool ready) { impl_->SetReady(ready); }
void AdminServers::Stop() { impl_->Stop(); }
std::vector<std::string> AdminServers::http_addresses() const { return impl_->http_addresses(); }
std::vector<int> AdminServers::grpc_ports() const { return impl_->grpc_ports(); }

}  // namespace podcache::admin
