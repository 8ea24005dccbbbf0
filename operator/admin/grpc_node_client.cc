#include "operator/admin/grpc_node_client.h"

#include <grpcpp/grpcpp.h>

#include <optional>
#include <unordered_map>
#include <utility>

#include "common/base/mutex.h"
#include "common/status/status.h"
#include "operator/admin/node_channel.h"
#include "podcache/admin/v1/admin.grpc.pb.h"

namespace podcache::control {

namespace v1 = admin::v1;

namespace {

absl::Status FromGrpc(const NodeTarget& target, const grpc::Status& status) {
  const std::string who = "cache of pod " + target.pod_name + " at " + target.address;
  // gRPC took its codes from the same list as Abseil.
  return MakeStatus(static_cast<absl::StatusCode>(status.error_code()),
                    who + ": " + status.error_message());
}

NodeConfig ToNodeConfig(const v1::Config& config) {
  NodeConfig result;
  result.memory_target_bytes = config.memory().target_bytes();
  result.memory_limit_bytes = config.memory().limit_bytes();
  result.threads_target = config.threads().target();
  result.threads_running = config.threads().running();
  result.max_connections = config.max_connections();
  result.max_item_size_bytes = config.max_item_size_bytes();
  return result;
}

NodeInfo ToNodeInfo(const v1::ServerInfo& info) {
  NodeInfo result;
  result.version = info.version();
  result.architecture = info.architecture();
  result.page_size_bytes = info.page_size_bytes();
  result.usable_cpus = info.usable_cpus();
  result.cgroup_cpu_quota_cores = info.cgroup_cpu_quota_cores();
  result.cgroup_memory_limit_bytes = info.cgroup_memory_limit_bytes();
  result.cgroup_memory_usage_bytes = info.cgroup_memory_usage_bytes();
  result.resident_memory_bytes = info.resident_memory_bytes();
  result.start_time_unix_seconds = info.start_time().seconds();
  result.config_hash = info.config_hash();
  result.sizing_rule = info.sizing().rule_name();
  result.resize_in_progress = info.resize_in_progress();
  result.config = ToNodeConfig(info.config());
  return result;
}

NodeStats ToNodeStats(const v1::Stats& stats) {
  NodeStats result;
  result.current_items = stats.current_items();
  result.current_bytes = stats.current_bytes();
  result.limit_bytes = stats.limit_bytes();
  result.resident_memory_bytes = stats.resident_memory_bytes();
  result.get_hits = stats.get_hits();
  result.get_misses = stats.get_misses();
  result.cmd_set = stats.cmd_set();
  result.evictions = stats.evictions();
  result.current_connections = stats.current_connections();
  result.threads = stats.threads();
  return result;
}

}  // namespace

// The channels by pod. A stub is handed out by value of a shared_ptr: it may be dropped here while
// a call still uses it.
class GrpcNodeClient::Channels {
 public:
  explicit Channels(std::size_t max_channels) : max_channels_(max_channels) {}

  void SetClientCertificate(const tls::KeyPair& client) {
    MutexLock lock(mutex_);
    client_ = client;
    by_uid_.clear();
  }

  absl::StatusOr<std::shared_ptr<v1::Admin::Stub>> Get(const NodeTarget& target) {
    MutexLock lock(mutex_);
    if (!client_) return FailedPrecondition("no client certificate for the admin port yet");
    Entry& entry = by_uid_[target.pod_uid];
    if (!entry.stub || entry.address != target.address || entry.secret != target.identity_secret) {
      entry.stub = v1::Admin::NewStub(NewNodeChannel(target, *client_));
      entry.address = target.address;
      entry.secret = target.identity_secret;
    }
    entry.last_use = ++use_;
    std::shared_ptr<v1::Admin::Stub> stub = entry.stub;
    if (by_uid_.size() > max_channels_) DropLeastRecentlyUsedLocked();
    return stub;
  }

  void Forget(const std::string& pod_uid) {
    MutexLock lock(mutex_);
    by_uid_.erase(pod_uid);
  }

 private:
  struct Entry {
    std::shared_ptr<v1::Admin::Stub> stub;
    std::string address;
    std::string secret;
    std::uint64_t last_use = 0;
  };

  void DropLeastRecentlyUsedLocked() REQUIRES(mutex_) {
    auto oldest = by_uid_.begin();
    for (auto it = by_uid_.begin(); it != by_uid_.end(); ++it) {
      if (it->second.last_use < oldest->second.last_use) oldest = it;
    }
    by_uid_.erase(oldest);
  }

  const std::size_t max_channels_;
  Mutex mutex_;
  std::optional<tls::KeyPair> client_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, Entry> by_uid_ GUARDED_BY(mutex_);
  std::uint64_t use_ GUARDED_BY(mutex_) = 0;
};

GrpcNodeClient::GrpcNodeClient(const NodeClientOptions& options)
    : options_(options), channels_(std::make_unique<Channels>(options.max_channels)) {}

GrpcNodeClient::~GrpcNodeClient() = default;

void GrpcNodeClient::SetClientCertificate(const tls::KeyPair& client) {
  channels_->SetClientCertificate(client);
}

void GrpcNodeClient::Forget(const std::string& pod_uid) { channels_->Forget(pod_uid); }

template <class Response, class Request, class Method>
absl::StatusOr<Response> GrpcNodeClient::Call(const NodeTarget& target, const Request& request,
                                              Method method) {
  PODCACHE_ASSIGN_OR_RETURN(const std::shared_ptr<v1::Admin::Stub> stub, channels_->Get(target));
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + options_.call_timeout);
  Response response;
  const grpc::Status status = (stub.get()->*method)(&context, request, &response);
  if (!status.ok()) return FromGrpc(target, status);
  return response;
}

absl::StatusOr<NodeInfo> GrpcNodeClient::GetServerInfo(const NodeTarget& target) {
  PODCACHE_ASSIGN_OR_RETURN(
      const v1::ServerInfo info,
      Call<v1::ServerInfo>(target, v1::GetServerInfoRequest(), &v1::Admin::Stub::GetServerInfo));
  return ToNodeInfo(info);
}

absl::StatusOr<NodeConfig> GrpcNodeClient::GetConfig(const NodeTarget& target) {
  PODCACHE_ASSIGN_OR_RETURN(
      const v1::Config config,
      Call<v1::Config>(target, v1::GetConfigRequest(), &v1::Admin::Stub::GetConfig));
  return ToNodeConfig(config);
}

absl::StatusOr<NodeConfig> GrpcNodeClient::SetMemory(const NodeTarget& target,
                                                     std::uint64_t target_bytes) {
  v1::UpdateConfigRequest request;
  request.mutable_config()->mutable_memory()->set_target_bytes(target_bytes);
  request.mutable_update_mask()->add_paths("memory.target_bytes");
  PODCACHE_ASSIGN_OR_RETURN(const v1::Config config,
                            Call<v1::Config>(target, request, &v1::Admin::Stub::UpdateConfig));
  return ToNodeConfig(config);
}

absl::StatusOr<NodeConfig> GrpcNodeClient::SetThreads(const NodeTarget& target,
                                                      std::uint32_t threads) {
  v1::UpdateConfigRequest request;
  request.mutable_config()->mutable_threads()->set_target(threads);
  request.mutable_update_mask()->add_paths("threads.target");
  PODCACHE_ASSIGN_OR_RETURN(const v1::Config config,
                            Call<v1::Config>(target, request, &v1::Admin::Stub::UpdateConfig));
  return ToNodeConfig(config);
}

absl::StatusOr<NodeStats> GrpcNodeClient::GetStats(const NodeTarget& target) {
  PODCACHE_ASSIGN_OR_RETURN(const v1::Stats stats, Call<v1::Stats>(target, v1::GetStatsRequest(),
                                                                   &v1::Admin::Stub::GetStats));
  return ToNodeStats(stats);
}

}  // namespace podcache::control
