#include "server/admin/grpc_endpoint.h"

#include <grpcpp/ext/proto_server_reflection_plugin.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/health_check_service_interface.h>
#include <grpcpp/resource_quota.h>
#include <sys/stat.h>
#include <unistd.h>

#include <mutex>

#include "common/http/listen_address.h"
#include "podcache/admin/v1/admin.grpc.pb.h"
#include "server/admin/admin_service.h"

namespace podcache::admin {

namespace {

// Requests are a few dozen bytes. The largest answer is well below the second limit.
constexpr int kMaxReceiveBytes = 64 << 10;
constexpr int kMaxSendBytes = 1 << 20;
constexpr int kMaxMetadataBytes = 8 << 10;
constexpr int kMaxStreamsPerConnection = 32;
constexpr int kHandshakeTimeoutMs = 10'000;
constexpr int kMaxIdleMs = 10 * 60 * 1000;
// All of the admin port's own buffers together: a flood of it must not eat the memory beside the
// cache.
constexpr std::size_t kQuotaBytes = 16 << 20;
constexpr int kQuotaThreads = 8;

std::string GrpcAddress(const http::ListenAddress& address) {
  if (address.is_unix()) return "unix:" + address.unix_path;
  const std::string port = std::to_string(address.port);
  if (address.host == "*") return "[::]:" + port;  // gRPC takes IPv4 alone where there is no IPv6.
  if (address.host.find(':') != std::string::npos) return "[" + address.host + "]:" + port;
  return address.host + ":" + port;
}

// Sockets made while this lives have mode 0600 from the first moment on.
class PrivateUmask {
 public:
  PrivateUmask() : before_(umask(0177)) {}
  ~PrivateUmask() { umask(before_); }
  PrivateUmask(const PrivateUmask&) = delete;
  PrivateUmask& operator=(const PrivateUmask&) = delete;

 private:
  mode_t before_;
};

void InitialiseGrpcOnce() {
  static std::once_flag once;
  std::call_once(once, [] {
    grpc::EnableDefaultHealthCheckService(true);
    grpc::reflection::InitProtoReflectionServerBuilderPlugin();
  });
}

// gRPC does not say why an address failed; opening it once more does.
std::string WhyNot(const http::ListenAddress& address) {
  if (address.is_unix()) {
    return "cannot listen on 'unix:" + address.unix_path +
           "': does the directory exist and may this user write to it?";
  }
  std::string error;
  const auto sockets = http::OpenListenSockets(address, &error);
  if (!sockets) return error;
  for (const int fd : *sockets) close(fd);
  return "cannot listen on '" + GrpcAddress(address) + "'";
}

bool ParseAll(const std::vector<std::string>& texts, std::vector<http::ListenAddress>* addresses,
              std::string* error) {
  for (const std::string& text : texts) {
    auto address = http::ParseListenAddress(text, error);
    if (!address) return false;
    addresses->push_back(*std::move(address));
  }
  return true;
}

}  // namespace

class GrpcEndpoint::Impl {
 public:
  explicit Impl(Backend& backend) : service_(NewAdminService(backend)) {}

  bool Start(const std::vector<http::ListenAddress>& addresses, const AdminTrust& trust,
             std::int64_t now_unix_seconds, std::string* error) {
    InitialiseGrpcOnce();
    std::shared_ptr<grpc::ServerCredentials> tcp = grpc::InsecureServerCredentials();
    if (trust.given()) tcp = MakeServerCredentials(trust, now_unix_seconds, error);
    if (!tcp) return false;
    grpc::ServerBuilder builder;
    Configure(builder);
    // Fixed size: gRPC writes the ports through pointers when it starts.
    std::vector<int> chosen(addresses.size(), 0);
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      builder.AddListeningPort(GrpcAddress(addresses[i]),
                               addresses[i].is_unix() ? grpc::InsecureServerCredentials() : tcp,
                               &chosen[i]);
    }
    {
      const PrivateUmask only_ours;
      server_ = builder.BuildAndStart();
    }
    for (std::size_t i = 0; i < addresses.size(); ++i) {
      if (server_ == nullptr && chosen[i] != 0) continue;
      if (chosen[i] == 0) {
        *error = WhyNot(addresses[i]);
        return false;
      }
      if (!addresses[i].is_unix()) ports_.push_back(chosen[i]);
    }
    if (server_ == nullptr) *error = "cannot start the admin server";
    return server_ != nullptr;
  }

  void SetReady(bool ready) {
    grpc::HealthCheckServiceInterface* health = server_->GetHealthCheckService();
    health->SetServingStatus(ready);
    health->SetServingStatus(v1::Admin::service_full_name(), ready);
  }

  void Stop(std::chrono::milliseconds grace) {
    if (server_) server_->Shutdown(std::chrono::system_clock::now() + grace);
    server_.reset();
  }

  const std::vector<int>& ports() const { return ports_; }

 private:
  void Configure(grpc::ServerBuilder& builder) {
    builder.RegisterService(service_.get());
    builder.SetMaxReceiveMessageSize(kMaxReceiveBytes);
    builder.SetMaxSendMessageSize(kMaxSendBytes);
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT,
                               0);  // A busy port is an error, not shared.
    builder.AddChannelArgument(GRPC_ARG_MAX_CONCURRENT_STREAMS, kMaxStreamsPerConnection);
    builder.AddChannelArgument(GRPC_ARG_MAX_METADATA_SIZE, kMaxMetadataBytes);
    builder.AddChannelArgument(GRPC_ARG_SERVER_HANDSHAKE_TIMEOUT_MS, kHandshakeTimeoutMs);
    builder.AddChannelArgument(GRPC_ARG_MAX_CONNECTION_IDLE_MS, kMaxIdleMs);
    grpc::ResourceQuota quota("admin");
    quota.Resize(kQuotaBytes);
    quota.SetMaxThreads(kQuotaThreads);
    builder.SetResourceQuota(quota);
  }

  const std::unique_ptr<grpc::Service> service_;
  std::unique_ptr<grpc::Server> server_;
  std::vector<int> ports_;
};

bool GrpcEndpoint::Check(const std::vector<std::string>& texts, const AdminTrust& trust,
                         std::string* error) {
  std::vector<http::ListenAddress> addresses;
  if (!ParseAll(texts, &addresses, error)) return false;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    if (!addresses[i].is_loopback() && !trust.given()) {
      *error = "admin address '" + texts[i] +
               "' can be reached by others and needs PODCACHE_ADMIN_CA and "
               "PODCACHE_ADMIN_IDENTITY; without them "
               "use 127.0.0.1, [::1] or unix:PATH";
      return false;
    }
  }
  return true;
}

std::unique_ptr<GrpcEndpoint> GrpcEndpoint::Start(const std::vector<std::string>& texts,
                                                  const AdminTrust& trust, Backend& backend,
                                                  std::int64_t now_unix_seconds,
                                                  std::string* error) {
  std::vector<http::ListenAddress> addresses;
  if (!Check(texts, trust, error) || !ParseAll(texts, &addresses, error)) return nullptr;
  auto impl = std::make_unique<Impl>(backend);
  if (!impl->Start(addresses, trust, now_unix_seconds, error)) return nullptr;
  return std::unique_ptr<GrpcEndpoint>(new GrpcEndpoint(std::move(impl)));
}

GrpcEndpoint::GrpcEndpoint(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
GrpcEndpoint::~GrpcEndpoint() { Stop(std::chrono::milliseconds(0)); }
void GrpcEndpoint::SetReady(bool ready) { impl_->SetReady(ready); }
void GrpcEndpoint::Stop(std::chrono::milliseconds grace) { impl_->Stop(grace); }
const std::vector<int>& GrpcEndpoint::ports() const { return impl_->ports(); }

}  // namespace podcache::admin
