#include "operator/operator.h"

#include <prometheus/text_serializer.h>
#include <unistd.h>

#include <array>
#include <random>
#include <utility>

#include "common/base/clock.h"
#include "common/base/version.h"
#include "common/http/endpoint.h"
#include "common/status/status.h"
#include "common/tls/identity.h"
#include "operator/admin/grpc_node_client.h"
#include "operator/api/v1alpha1/conditions.h"
#include "operator/client/curl_transport.h"
#include "operator/client/http_api_client.h"
#include "operator/client/rest_config.h"
#include "operator/cluster_features.h"
#include "operator/controller/operator_metrics.h"
#include "operator/informers.h"
#include "operator/manager/manager.h"
#include "operator/podcache_metrics.h"
#include "operator/reconcile/cache_profile_reconciler.h"
#include "operator/reconcile/cache_sidecar_reconciler.h"
#include "operator/reconcile/node_labels.h"
#include "operator/resources/names.h"
#include "operator/trust.h"
#include "operator/webhook/admission_server.h"
#include "operator/webhook/certificate_rotation.h"
#include "operator/webhook/injection_handler.h"

namespace podcache::control {

namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Half of the renew deadline: a renewal that hangs must not outlive the lease.
constexpr seconds kElectorTimeout{5};

std::string HostName() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : "unknown";
}

std::uint64_t Seed() {
  std::random_device device;
  return (std::uint64_t{device()} << 32) | device();
}

bool IsAddress(const std::string& host) {
  return host.find(':') != std::string::npos ||
         host.find_first_not_of("0123456789.") == std::string::npos;
}

RotationOptions NamesOfWebhook(const Options& options) {
  const std::string service = options.webhook_service + "." + options.ns;
  RotationOptions rotation;
  rotation.dns_names = {service + ".svc", service, options.webhook_service,
                        service + ".svc.cluster.local"};
  for (const std::string& host : options.webhook_hosts) {
    (IsAddress(host) ? rotation.ip_addresses : rotation.dns_names).push_back(host);
  }
  return rotation;
}

// "10.0.0.1:443" for logs of where something listens.
std::string Joined(const std::vector<std::string>& addresses) {
  std::string text;
  for (const std::string& address : addresses) text += (text.empty() ? "" : ",") + address;
  return text;
}

}  // namespace

class Operator::Impl {
 public:
  Impl(Options options, Logger log)
      : options_(std::move(options)),
        log_(std::move(log)),
        metrics_([this] { return CountManaged(); }),
        identity_(HostName() + "_" + tls::NewIdentityNonceHex().substr(0, 8)) {}

  ~Impl() { StopAll(); }

  absl::Status Run(const std::stop_token& stop) {
    // The stop reaches the transport only when everybody is done with it, or before anybody needs
    // it.
    std::stop_callback early(stop, [this] {
      if (!manager_running_.load()) transport_stop_.request_stop();
    });
    PODCACHE_RETURN_IF_ERROR(StartEndpoints());
    PODCACHE_RETURN_IF_ERROR(Connect());
    PODCACHE_ASSIGN_OR_RETURN(features_, WaitForApiServer(stop));
    support_.in_place.store(features_.in_place_resize);
    support_.decrease.store(features_.memory_decrease);
    log_.Info("Connected to API server", {{"version", features_.version.git_version},
                                          {"inPlaceResize", features_.in_place_resize},
                                          {"nativeSidecars", features_.native_sidecars}});
    Build();
    rotation_->Start();
    manager_running_.store(true);
    const absl::Status status = manager_->Run(stop);
    manager_running_.store(false);
    StopAll();
    return status;
  }

 private:
  absl::Status StartEndpoints() {
    std::string error;
    health_ = http::Endpoint::Start({.addresses = {options_.health_listen},
                                     .routes = {{"/healthz",
                                                 [] {
                                                   return http::Response{200, "ok\n"};
                                                 }},
                                                {"/readyz", [this] { return Readiness(); }}}},
                                    &error);
    if (!health_) return Unavailable("health endpoint: " + error);
    metrics_endpoint_ =
        http::Endpoint::Start({.addresses = {options_.metrics_listen},
                               .routes = {{"/metrics", [this] { return Scrape(); }}}},
                              &error);
    if (!metrics_endpoint_) return Unavailable("metrics endpoint: " + error);
    log_.Info("Listening", {{"health", Joined(health_->bound_addresses())},
                            {"metrics", Joined(metrics_endpoint_->bound_addresses())}});
    return absl::OkStatus();
  }

  http::Response Readiness() const {
    if (!built_.load()) return {503, "not connected to the API server yet\n"};
    if (!manager_->ready()) return {503, "caches are not filled yet\n"};
    if (!admission_->serving()) return {503, "webhook has no certificate yet\n"};
    return {200, "ok\n"};
  }

  http::Response Scrape() const {
    std::vector<prometheus::MetricFamily> families = kube_metrics_.Collect();
    for (prometheus::MetricFamily& family : metrics_.Collect())
      families.push_back(std::move(family));
    return {200, prometheus::TextSerializer().Serialize(families),
            "text/plain; version=0.0.4; charset=utf-8"};
  }

  absl::Status Connect() {
    PODCACHE_ASSIGN_OR_RETURN(const kube::RestConfig config,
                              kube::DefaultConfig(options_.kubeconfig, options_.context));
    PODCACHE_ASSIGN_OR_RETURN(transport_, kube::CurlTransport::Create(
                                              config, "podcache-operator/" + std::string(Version()),
                                              clock_, transport_stop_.get_token()));
    api_ = std::make_unique<kube::HttpApiClient>(*transport_, clock_, &kube_metrics_);
    elector_api_ =
        std::make_unique<kube::HttpApiClient>(*transport_, clock_, &kube_metrics_, kElectorTimeout);
    return absl::OkStatus();
  }

  absl::StatusOr<ClusterFeatures> WaitForApiServer(const std::stop_token& stop) {
    for (seconds wait{1};; wait = std::min(wait * 2, seconds(15))) {
      absl::StatusOr<ClusterFeatures> features = DetectFeatures(*api_, options_.ns);
      if (features.ok() || stop.stop_requested()) return features;
      log_.Warning("API server does not answer", {{"error", MessageOf(features.status())}});
      Mutex mutex;
      CondVar stopped;
      std::stop_callback wake(stop, [&] { stopped.NotifyAll(); });
      MutexLock lock(mutex);
      if (!stop.stop_requested()) stopped.WaitFor(mutex, wait);
    }
  }

  void Build() {
    informers_ = BuildInformers(*api_, options_.watch_namespaces, clock_, Seed(), log_);
    if (options_.leader_elect) {
      elector_ = std::make_unique<kube::LeaderElector>(
          *elector_api_,
          kube::LeaderElectorOptions{.lease = {options_.ns, std::string(kOperatorName)},
                                     .identity = identity_},
          clock_, Seed(), log_);
    }
    kube::ManagerOptions manager_options;
    manager_options.on_leadership = [this](bool leader) {
      kube_metrics_.SetLeader(std::string(kOperatorName), leader);
    };
    manager_ = std::make_unique<kube::Manager>(std::move(manager_options), elector_.get(), log_);
    BuildWebhook();
    BuildReconcilers();
    BuildControllers();
    built_.store(true);
  }

  void BuildWebhook() {
    handler_ = std::make_unique<InjectionHandler>(
        InjectionSources{
            .sidecars =
                [this](std::string_view ns) { return SidecarsIn(informers_->stores.sidecars, ns); },
            .profile =
                [this](const std::string& name) {
                  return FindProfile(informers_->stores.profiles, name);
                },
            .trust = [this] { return trust_.ForPods(); },
            .new_nonce = &tls::NewIdentityNonceHex,
            .default_image = options_.server_image,
            .native_sidecars = features_.native_sidecars},
        metrics_, log_);
    admission_ = std::make_unique<AdmissionServer>(
        AdmissionServerOptions{.listen = "*:" + std::to_string(options_.webhook_port),
                               .path = std::string(kWebhookPath)},
        [this](const AdmissionRequest& request) { return handler_->Handle(request); }, &metrics_,
        clock_, log_);
    rotation_ = std::make_unique<CertificateRotation>(
        *api_,
        CertificateRotationOptions{.secret = {options_.ns, std::string(kCertificateSecretName)},
                                   .webhook_configuration = options_.webhook_configuration,
                                   .rotation = NamesOfWebhook(options_)},
        [this] { return manager_->is_leader(); },
        [this](const CertificateSet& set) { UseCertificates(set); }, clock_, log_);
    // Before the controllers start: what they show of the webhook is then true from their first
    // look.
    manager_->OnLeading([this] {
      if (!rotation_->Visit().ok()) rotation_->Wake();
    });
  }

  // On the rotation's thread.
  void UseCertificates(const CertificateSet& set) {
    trust_.Set(set);
    nodes_.SetClientCertificate(set.admin_client);
    absl::Status status = admission_->UseCertificate(set.webhook_leaf);
    if (status.ok() && !admission_->serving()) {
      status = admission_->Start();
      if (status.ok()) log_.Info("Webhook serves", {{"port", admission_->port()}});
    }
    if (!status.ok()) log_.Error("Failed to serve the webhook", {{"error", MessageOf(status)}});
    for (const kube::ObjectPtr& sidecar : informers_->stores.sidecars.List()) {
      sidecar_controller_->Enqueue(sidecar->key());
    }
  }

  void BuildReconcilers() {
    node_labels_ = std::make_unique<NodeLabels>(*api_, options_.read_nodes, clock_);
    slots_ = std::make_unique<ResizeSlots>(options_.max_concurrent_resizes);
    status_writer_ = std::make_unique<StatusWriter>(*api_, clock_);
    events_ = std::make_unique<EventRecorder>(*api_, HostName(), clock_, log_);
    resizer_ = std::make_unique<PodResizer>(
        *api_, nodes_, history_, *slots_, support_,
        [this](std::string_view nonce) { return trust_.IdentityOf(nonce); },
        [this](const std::string& node) { return node_labels_->Get(node); }, clock_,
        PodResizerOptions{.admin_port = options_.cache_admin_port});
    sidecar_reconciler_ = std::make_unique<CacheSidecarReconciler>(
        informers_->stores, *resizer_, history_, *slots_, nodes_, *status_writer_, *events_,
        metrics_,
        SidecarSurroundings{
            .webhook_ready = [this] { return admission_->serving() && rotation_->published(); },
            .native_sidecars = features_.native_sidecars,
            .profiles_watched = options_.watch_namespaces.empty()},
        clock_);
    profile_reconciler_ =
        std::make_unique<CacheProfileReconciler>(informers_->stores, *status_writer_, clock_);
  }

  void BuildControllers() {
    const Stores& stores = informers_->stores;
    sidecar_controller_ = std::make_unique<kube::Controller>(
        kube::ControllerOptions{.name = "cachesidecar", .workers = 1, .rate_limit = {}},
        *sidecar_reconciler_, clock_, kube_metrics_, log_);
    profile_controller_ = std::make_unique<kube::Controller>(
        kube::ControllerOptions{.name = "cacheprofile", .workers = 1, .rate_limit = {}},
        *profile_reconciler_, clock_, kube_metrics_, log_);
    for (const auto& informer : informers_->sidecars) {
      // Which one a pod belongs to depends on all of its namespace.
      sidecar_controller_->Watch(
          *informer,
          [&stores](const kube::Object& object) { return SiblingsOf(object, stores.sidecars); },
          kube::SpecOrMetadataChanged());
      profile_controller_->Watch(*informer, &ProfilesOfSidecar, kube::SpecOrMetadataChanged());
      manager_->Add(*informer);
    }
    for (const auto& informer : informers_->pods) {
      sidecar_controller_->Watch(
          *informer,
          [&stores](const kube::Object& pod) { return SidecarsOfPod(pod, stores.sidecars); },
          kube::VersionChanged());
      manager_->Add(*informer);
    }
    if (informers_->profiles) {
      sidecar_controller_->Watch(
          *informers_->profiles,
          [&stores](const kube::Object& profile) {
            return SidecarsOfProfile(profile, stores.sidecars);
          },
          kube::SpecOrMetadataChanged());
      profile_controller_->Watch(*informers_->profiles, kube::MapToSelf(),
                                 kube::SpecOrMetadataChanged());
      manager_->Add(*informers_->profiles);
    }
    manager_->Add(*sidecar_controller_);
    manager_->Add(*profile_controller_);
  }

  std::vector<ManagedCount> CountManaged() const {
    ManagedCount sidecars{.kind = "CacheSidecar"};
    ManagedCount profiles{.kind = "CacheProfile"};
    if (built_.load()) {
      for (const kube::ObjectPtr& object : informers_->stores.sidecars.List()) {
        ++(ConditionHolds(*object, condition::kReady) ? sidecars.ready : sidecars.not_ready);
      }
      for (const kube::ObjectPtr& object : informers_->stores.profiles.List()) {
        ++(ConditionHolds(*object, condition::kAccepted) ? profiles.ready : profiles.not_ready);
      }
    }
    return {sidecars, profiles};
  }

  void StopAll() {
    if (admission_) admission_->Stop();
    transport_stop_.request_stop();
    if (rotation_) rotation_->Stop();
    health_.reset();
    metrics_endpoint_.reset();
  }

  const Options options_;
  const Logger log_;
  SystemClock clock_;
  kube::OperatorMetrics kube_metrics_;
  PodcacheMetrics metrics_;
  const std::string identity_;
  std::atomic<bool> built_{false};            // What endpoints look at exists.
  std::atomic<bool> manager_running_{false};  // It stops its parts itself.
  std::unique_ptr<http::Endpoint> health_;
  std::unique_ptr<http::Endpoint> metrics_endpoint_;

  std::stop_source transport_stop_;
  std::unique_ptr<kube::CurlTransport> transport_;
  std::unique_ptr<kube::HttpApiClient> api_;
  std::unique_ptr<kube::HttpApiClient> elector_api_;
  ClusterFeatures features_;
  ResizeSupport support_;
  GrpcNodeClient nodes_{{.call_timeout = milliseconds(2000)}};
  Trust trust_;
  ResizeHistory history_;

  std::unique_ptr<NodeLabels> node_labels_;
  std::unique_ptr<ResizeSlots> slots_;
  std::unique_ptr<StatusWriter> status_writer_;
  std::unique_ptr<EventRecorder> events_;
  std::unique_ptr<PodResizer> resizer_;
  std::unique_ptr<CacheSidecarReconciler> sidecar_reconciler_;
  std::unique_ptr<CacheProfileReconciler> profile_reconciler_;
  std::unique_ptr<InjectionHandler> handler_;
  std::unique_ptr<kube::Controller> sidecar_controller_;
  std::unique_ptr<kube::Controller> profile_controller_;
  std::unique_ptr<Informers> informers_;  // Stopped before the controllers they feed.
  std::unique_ptr<kube::LeaderElector> elector_;
  std::unique_ptr<kube::Manager> manager_;
  std::unique_ptr<AdmissionServer> admission_;
  std::unique_ptr<CertificateRotation> rotation_;
};

Operator::Operator(Options options, Logger log)
    : impl_(std::make_unique<Impl>(std::move(options), std::move(log))) {}
Operator::~Operator() = default;

absl::Status Operator::Run(const std::stop_token& stop) { return impl_->Run(stop); }

}  // namespace podcache::control
