#include "operator/webhook/rotation_plan.h"

#include <algorithm>
#include <set>

#include "common/status/status.h"
#include "common/tls/identity.h"

namespace podcache::control {

namespace {

// Whether the two agree and form a usable pair at all.
bool Usable(const tls::KeyPair& pair) {
  return !pair.certificate_pem.empty() && tls::KeyMatchesCertificate(pair);
}

bool Expired(std::string_view certificate_pem, std::int64_t now) {
  const auto info = tls::ReadCertificate(certificate_pem, nullptr);
  return !info || info->validity.not_after_unix_seconds <= now;
}

bool BundleHas(std::string_view bundle_pem, std::string_view certificate_pem) {
  const auto wanted = tls::ReadCertificate(certificate_pem, nullptr);
  if (!wanted) return false;
  for (const std::string& certificate : SplitBundle(bundle_pem)) {
    const auto info = tls::ReadCertificate(certificate, nullptr);
    if (info && info->sha256_hex == wanted->sha256_hex) return true;
  }
  return false;
}

bool SameNames(std::vector<std::string> a, std::vector<std::string> b) {
  return std::set(a.begin(), a.end()) == std::set(b.begin(), b.end());
}

class Planner {
 public:
  Planner(const CertificateSet& current, std::string_view published, std::int64_t now,
          const RotationOptions& options)
      : set_(current), published_(published), now_(now), options_(options) {}

  absl::StatusOr<RotationPlan> Run() {
    PODCACHE_RETURN_IF_ERROR(WebhookCa());
    PODCACHE_RETURN_IF_ERROR(WebhookLeaf());
    PODCACHE_RETURN_IF_ERROR(Admin());
    if (set_.identity_key.size() != tls::kIdentitySecretBytes) {
      set_.identity_key = tls::NewIdentityKey();
      changes_.emplace_back("identity key");
    }
    TidyBundle();
    return RotationPlan{std::move(set_), !changes_.empty(), std::move(changes_)};
  }

 private:
  absl::StatusOr<tls::KeyPair> NewCa(std::string_view name, std::chrono::seconds lifetime) const {
    std::string error;
    auto ca = tls::MakeCa(name, tls::ValidFrom(now_, lifetime), &error);
    if (!ca) return Internal(error);
    return *std::move(ca);
  }

  absl::StatusOr<tls::KeyPair> NewLeaf(const tls::KeyPair& ca, tls::LeafRequest request) const {
    request.validity = tls::ValidFrom(now_, options_.leaf_lifetime);
    std::string error;
    auto leaf = tls::IssueLeaf(ca, request, &error);
    if (!leaf) return Internal(error);
    return *std::move(leaf);
  }

  absl::Status WebhookCa() {
    if (!Usable(set_.webhook_ca) || Expired(set_.webhook_ca.certificate_pem, now_)) {
      PODCACHE_ASSIGN_OR_RETURN(set_.webhook_ca,
                                NewCa("podcache-webhook-ca", options_.ca_lifetime));
      set_.webhook_next_ca.reset();
      changes_.emplace_back("webhook CA");
      return absl::OkStatus();
    }
    if (set_.webhook_next_ca && !Usable(*set_.webhook_next_ca)) set_.webhook_next_ca.reset();
    if (!set_.webhook_next_ca && RenewalDue(set_.webhook_ca.certificate_pem, now_)) {
      PODCACHE_ASSIGN_OR_RETURN(set_.webhook_next_ca,
                                NewCa("podcache-webhook-ca", options_.ca_lifetime));
      changes_.emplace_back("next webhook CA");
    } else if (set_.webhook_next_ca && NextCaIsTrusted()) {
      set_.webhook_ca = *std::move(set_.webhook_next_ca);
      set_.webhook_next_ca.reset();
      changes_.emplace_back("change of webhook CA");
    }
    return absl::OkStatus();
  }

  // Validity begins an hour before the certificate was made (tls::ValidFrom).
  bool NextCaIsTrusted() const {
    const auto info = tls::ReadCertificate(set_.webhook_next_ca->certificate_pem, nullptr);
    if (!info || !BundleHas(published_, set_.webhook_next_ca->certificate_pem)) return false;
    const std::int64_t made = info->validity.not_before_unix_seconds + 3600;
    return now_ >= made + options_.propagation.count();
  }

  absl::Status WebhookLeaf() {
    const auto info = tls::ReadCertificate(set_.webhook_leaf.certificate_pem, nullptr);
    const bool good =
        info && Usable(set_.webhook_leaf) &&
        tls::SignedBy(set_.webhook_leaf.certificate_pem, set_.webhook_ca.certificate_pem) &&
        SameNames(info->dns_names, options_.dns_names) &&
        SameNames(info->ip_addresses, options_.ip_addresses) &&
        !RenewalDue(set_.webhook_leaf.certificate_pem, now_);
    if (good) return absl::OkStatus();
    tls::LeafRequest request;
    request.common_name = "podcache-webhook";
    request.dns_names = options_.dns_names;
    request.ip_addresses = options_.ip_addresses;
    request.usage = tls::Usage::kServer;
    PODCACHE_ASSIGN_OR_RETURN(set_.webhook_leaf, NewLeaf(set_.webhook_ca, request));
    changes_.emplace_back("webhook leaf");
    return absl::OkStatus();
  }

  absl::Status Admin() {
    if (!Usable(set_.admin_ca) || Expired(set_.admin_ca.certificate_pem, now_)) {
      PODCACHE_ASSIGN_OR_RETURN(set_.admin_ca,
                                NewCa("podcache-admin-ca", options_.admin_ca_lifetime));
      changes_.emplace_back("admin CA");
    }
    if (Usable(set_.admin_client) && !RenewalDue(set_.admin_client.certificate_pem, now_) &&
        tls::SignedBy(set_.admin_client.certificate_pem, set_.admin_ca.certificate_pem)) {
      return absl::OkStatus();
    }
    tls::LeafRequest request;
    request.common_name = "podcache-operator";
    request.usage = tls::Usage::kClient;
    PODCACHE_ASSIGN_OR_RETURN(set_.admin_client, NewLeaf(set_.admin_ca, request));
    changes_.emplace_back("admin client certificate");
    return absl::OkStatus();
  }

  // The signing CA first, then the next one, then retired ones that have not expired.
  void TidyBundle() {
    std::string bundle = set_.webhook_ca.certificate_pem;
    if (set_.webhook_next_ca) bundle += set_.webhook_next_ca->certificate_pem;
    for (const std::string& certificate : SplitBundle(set_.webhook_bundle_pem)) {
      if (!Expired(certificate, now_) && !BundleHas(bundle, certificate)) bundle += certificate;
    }
    if (bundle == set_.webhook_bundle_pem) return;
    set_.webhook_bundle_pem = std::move(bundle);
    changes_.emplace_back("CA bundle");
  }

  CertificateSet set_;
  const std::string_view published_;
  const std::int64_t now_;
  const RotationOptions& options_;
  std::vector<std::string> changes_;
};

}  // namespace

bool RenewalDue(std::string_view certificate_pem, std::int64_t now_unix_seconds) {
  const auto info = tls::ReadCertificate(certificate_pem, nullptr);
  if (!info) return true;
  const std::int64_t life =
      info->validity.not_after_unix_seconds - info->validity.not_before_unix_seconds;
  return now_unix_seconds >= info->validity.not_before_unix_seconds + life / 3 * 2;
}

absl::StatusOr<RotationPlan> PlanRotation(const CertificateSet& current,
                                          std::string_view published_bundle_pem,
                                          std::int64_t now_unix_seconds,
                                          const RotationOptions& options) {
  return Planner(current, published_bundle_pem, now_unix_seconds, options).Run();
}

}  // namespace podcache::control
