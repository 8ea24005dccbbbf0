#include "operator/webhook/injection_handler.h"

#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <utility>

#include "operator/resources/names.h"
#include "operator/webhook/json_access.h"

namespace podcache::control {

namespace {

std::string PodName(const nlohmann::json& pod) {
  const nlohmann::json& metadata = Member(pod, "metadata");
  const std::string name = Text(metadata, "name");
  return name.empty() ? Text(metadata, "generateName") + "*" : name;
}

std::string_view OutcomeName(InjectionOutcome outcome) {
  switch (outcome) {
    case InjectionOutcome::kInjected:
      return "injected";
    case InjectionOutcome::kUnchanged:
      return "unchanged";
    case InjectionOutcome::kSkipped:
      return "skipped";
    case InjectionOutcome::kRefused:
      return "refused";
  }
  return "skipped";
}

}  // namespace

InjectionHandler::InjectionHandler(InjectionSources sources, InjectionCounter& counter, Logger log)
    : sources_(std::move(sources)), counter_(counter), log_(std::move(log)) {}

AdmissionResponse InjectionHandler::Handle(const AdmissionRequest& request) const {
  // A wrong rule in the webhook configuration must not block anything else.
  if (request.operation != "CREATE" || !request.group.empty() || request.kind != "Pod") return {};
  InjectionResult result = RunInjector(request);
  counter_.OnInjection(result.outcome);
  log_.Info("Answered admission", {{"namespace", request.ns},
                                   {"pod", PodName(*request.object)},
                                   {"uid", request.uid},
                                   {"outcome", OutcomeName(result.outcome)},
                                   {"message", result.message}});
  AdmissionResponse response;
  response.allowed = result.outcome != InjectionOutcome::kRefused;
  response.message = std::move(result.message);
  response.patch = std::move(result.patch);
  response.warnings = std::move(result.warnings);
  return response;
}

InjectionResult InjectionHandler::RunInjector(const AdmissionRequest& request) const {
  const std::optional<AdminTrust> trust = sources_.trust();
  if (!trust) throw std::logic_error("admission before there are certificates");
  const std::vector<CacheSidecar> sidecars = sources_.sidecars(request.ns);
  std::vector<const CacheSidecar*> pointers;
  std::map<std::string, CacheProfile> profiles;
  for (const CacheSidecar& sidecar : sidecars) {
    pointers.push_back(&sidecar);
    const std::string name = sidecar.spec.profile_ref ? sidecar.spec.profile_ref->name
                                                      : std::string(kDefaultProfileName);
    if (profiles.contains(name)) continue;
    if (auto profile = sources_.profile(name)) profiles.emplace(name, *std::move(profile));
  }
  InjectionInput input{.pod = *request.object,
                       .ns = request.ns,
                       .sidecars = std::move(pointers),
                       .profiles = {},
                       .default_image = sources_.default_image,
                       .admin_ca_pem = trust->ca_pem,
                       .nonce = sources_.new_nonce(),
                       .identity_hex = trust->identity_hex,
                       .native_sidecars = sources_.native_sidecars};
  for (const auto& [name, profile] : profiles) input.profiles.emplace(name, &profile);
  return Inject(input);
}

}  // namespace podcache::control
