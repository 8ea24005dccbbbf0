#include "operator/webhook/certificate_rotation.h"

#include <nlohmann/json.hpp>
#include <utility>

#include "common/status/status.h"
#include "operator/client/api_error.h"
#include "operator/webhook/base64.h"

namespace podcache::control {

namespace {

using nlohmann::json;

constexpr std::string_view kFieldManagerName = "podcache-operator";

SecretData DataOf(const kube::Object& secret) {
  SecretData data;
  const json& encoded = secret.At({"data"});
  if (!encoded.is_object()) return data;
  for (const auto& [key, value] : encoded.items()) {
    if (value.is_string()) data[key] = DecodeBase64(value.get_ref<const std::string&>());
  }
  return data;
}

json EncodedData(const CertificateSet& set) {
  json data = json::object();
  for (const auto& [key, value] : ToSecretData(set)) data[key] = EncodeBase64(value);
  return data;
}

const json& Webhooks(const kube::Object& configuration) {
  static const json kNone = json::array();
  const json& webhooks = configuration.At({"webhooks"});
  return webhooks.is_array() ? webhooks : kNone;
}

std::string BundleIn(const json& webhook) {
  const json::json_pointer path("/clientConfig/caBundle");
  return webhook.contains(path) && webhook[path].is_string()
             ? DecodeBase64(webhook[path].get<std::string>())
             : std::string();
}

// What every entry trusts: a CA counts as published only when all of them have it.
std::string CommonBundle(const kube::Object& configuration) {
  std::string common;
  bool first = true;
  for (const json& webhook : Webhooks(configuration)) {
    const std::string bundle = BundleIn(webhook);
    if (first) {
      common = bundle;
    } else if (bundle != common) {
      return {};
    }
    first = false;
  }
  return common;
}

}  // namespace

CertificateRotation::CertificateRotation(kube::ApiClient& client,
                                         CertificateRotationOptions options,
                                         std::function<bool()> may_write, OnChange on_change,
                                         const Clock& clock, Logger log)
    : client_(client),
      options_(std::move(options)),
      may_write_(std::move(may_write)),
      on_change_(std::move(on_change)),
      clock_(clock),
      log_(std::move(log)) {}

CertificateRotation::~CertificateRotation() { Stop(); }

absl::Status CertificateRotation::Visit() {
  MutexLock lock(visit_mutex_);
  return VisitLocked();
}

absl::Status CertificateRotation::VisitLocked() {
  PODCACHE_ASSIGN_OR_RETURN(Stored stored, Load());
  if (!may_write_()) {
    // The chart makes it empty.
    if (stored.set.webhook_leaf.certificate_pem.empty())
      return NotFound("Secret " + options_.secret.ToString() + " is not filled yet");
    Use(stored.set);
    return absl::OkStatus();
  }
  const absl::StatusOr<kube::Object> configuration =
      client_.Get({kube::kMutatingWebhookConfigurations, "", options_.webhook_configuration, ""});
  if (!configuration.ok() && !absl::IsNotFound(configuration.status())) {
    return WithContext(configuration.status(), "reading the webhook configuration");
  }
  PODCACHE_RETURN_IF_ERROR(
      Renew(stored, configuration.ok() ? CommonBundle(*configuration) : std::string()));
  if (configuration.ok()) {
    PODCACHE_RETURN_IF_ERROR(Publish(*configuration, stored.set.webhook_bundle_pem));
  }
  published_.store(configuration.ok() && !Webhooks(*configuration).empty());
  Use(stored.set);
  return absl::OkStatus();
}

absl::StatusOr<CertificateRotation::Stored> CertificateRotation::Load() {
  Stored stored;
  absl::StatusOr<kube::Object> secret =
      client_.Get({kube::kSecrets, options_.secret.ns, options_.secret.name, ""});
  if (absl::IsNotFound(secret.status())) return stored;
  if (!secret.ok()) return WithContext(secret.status(), "reading the certificate Secret");
  stored.set = FromSecretData(DataOf(*secret));
  stored.secret = *std::move(secret);
  return stored;
}

absl::Status CertificateRotation::Renew(Stored& stored, std::string_view published_bundle) {
  PODCACHE_ASSIGN_OR_RETURN(
      RotationPlan plan,
      PlanRotation(stored.set, published_bundle, clock_.WallSeconds(), options_.rotation));
  stored.set = std::move(plan.set);
  if (!plan.changed) return absl::OkStatus();
  PODCACHE_RETURN_IF_ERROR(Write(stored));
  for (const std::string& change : plan.changes)
    log_.Info("Renewed certificate", {{"what", change}});
  return absl::OkStatus();
}

absl::Status CertificateRotation::Write(const Stored& stored) {
  const kube::WriteOptions options{.field_manager = std::string(kFieldManagerName)};
  if (!stored.secret) {
    kube::Object secret(
        json{{"apiVersion", "v1"},
             {"kind", "Secret"},
             {"metadata", {{"name", options_.secret.name}, {"namespace", options_.secret.ns}}},
             {"type", "Opaque"},
             {"data", EncodedData(stored.set)}});
    return WithContext(client_.Create(kube::kSecrets, secret, options).status(),
                       "creating the certificate Secret");
  }
  kube::Object secret = *stored.secret;  // With the version that was read.
  secret.mutable_json()["data"] = EncodedData(stored.set);
  return WithContext(
      client_
          .Update({kube::kSecrets, options_.secret.ns, options_.secret.name, ""}, secret, options)
          .status(),
      "writing the certificate Secret");
}

absl::Status CertificateRotation::Publish(const kube::Object& configuration,
                                          std::string_view bundle) {
  json patch = json::array();
  std::size_t index = 0;
  for (const json& webhook : Webhooks(configuration)) {
    const std::string path = "/webhooks/" + std::to_string(index++);
    if (BundleIn(webhook) == bundle) continue;
    // The index is right only as long as the entry is the one that was read.
    patch.push_back(
        {{"op", "test"}, {"path", path + "/name"}, {"value", webhook.value("name", "")}});
    patch.push_back({{"op", "add"},
                     {"path", path + "/clientConfig/caBundle"},
                     {"value", EncodeBase64(bundle)}});
  }
  if (patch.empty()) return absl::OkStatus();
  PODCACHE_RETURN_IF_ERROR(WithContext(
      client_
          .Patch({kube::kMutatingWebhookConfigurations, "", options_.webhook_configuration, ""},
                 kube::PatchType::kJson, patch, {.field_manager = std::string(kFieldManagerName)})
          .status(),
      "publishing the CA bundle"));
  log_.Info("Published CA bundle", {{"configuration", options_.webhook_configuration}});
  return absl::OkStatus();
}

void CertificateRotation::Use(const CertificateSet& set) {
  SecretData data = ToSecretData(set);
  if (data == in_use_) return;
  on_change_(set);
  in_use_ = std::move(data);
  ready_.store(true);
}

void CertificateRotation::Start() {
  thread_ = std::thread([this] { Run(); });
}

void CertificateRotation::Stop() {
  {
    MutexLock lock(mutex_);
    stopping_ = true;
  }
  wake_.NotifyAll();
  if (thread_.joinable()) thread_.join();
}

void CertificateRotation::Wake() {
  {
    MutexLock lock(mutex_);
    woken_ = true;
  }
  wake_.NotifyAll();
}

void CertificateRotation::Run() {
  for (;;) {
    const absl::Status status = Visit();
    if (!status.ok() && !kube::IsConflict(status) && !absl::IsAlreadyExists(status) &&
        !absl::IsNotFound(status)) {
      log_.Error("Failed to renew certificates", {{"error", MessageOf(status)}});
    }
    const auto wait = status.ok() ? options_.interval : options_.retry_interval;
    const auto until = clock_.MonotonicNow() + wait;
    MutexLock lock(mutex_);
    while (!stopping_ && !woken_ && clock_.MonotonicNow() < until) {
      wake_.WaitFor(mutex_, until - clock_.MonotonicNow());
    }
    if (stopping_) return;
    woken_ = false;
  }
}

}  // namespace podcache::control
