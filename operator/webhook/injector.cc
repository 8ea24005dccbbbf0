#include "operator/webhook/injector.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "operator/resources/container_amounts.h"
#include "operator/resources/names.h"
#include "operator/resources/pod_config.h"
#include "operator/resources/sidecar_container.h"
#include "operator/resources/sidecar_selection.h"
#include "operator/resources/sidecar_sizing.h"
#include "operator/resources/sizing_rules.h"
#include "operator/webhook/json_access.h"
#include "operator/webhook/pod_fit.h"
#include "operator/webhook/pod_patch.h"
#include "operator/webhook/pod_qos.h"

namespace podcache::control {

namespace {

using nlohmann::json;

bool HasOurContainer(const json& spec) {
  for (const char* list : {"initContainers", "containers"}) {
    const json& containers = Member(spec, list);
    if (!containers.is_array()) continue;
    for (const json& container : containers) {
      if (Member(container, "name") == std::string(kContainerName)) return true;
    }
  }
  return false;
}

class Injection {
 public:
  explicit Injection(const InjectionInput& input)
      : input_(input),
        spec_(Member(input.pod, "spec")),
        labels_(TextMap(Member(Member(input.pod, "metadata"), "labels"))),
        annotations_(TextMap(Member(Member(input.pod, "metadata"), "annotations"))),
        required_(InjectRequestOf(labels_) == InjectRequest::kRequired) {}

  InjectionResult Run() {
    if (InjectRequestOf(labels_) == InjectRequest::kNever) return std::move(result_);
    if (std::string why = FindExclusion(input_.pod); !why.empty()) {
      result_.warnings.push_back("podcache: not injected: " + why);
      return std::move(result_);
    }
    if (!spec_.is_object()) return NotPossible("pod has no spec");
    const SidecarSelection selection =
        SelectSidecar(labels_, Annotation(kSidecarNameAnnotation), input_.sidecars);
    if (IsOurs()) return AlreadyInjected(selection.chosen);
    if (selection.chosen == nullptr) {
      return NotPossible(selection.warning.empty()
                             ? "no CacheSidecar in namespace " + input_.ns + " selects this pod"
                             : selection.warning);
    }
    if (!selection.warning.empty()) Warn(selection.warning);
    return InjectFor(*selection.chosen);
  }

 private:
  std::string Annotation(std::string_view key) const {
    const auto found = annotations_.find(std::string(key));
    return found == annotations_.end() ? std::string() : found->second;
  }

  void Warn(const std::string& text) { result_.warnings.push_back("podcache: " + text); }

  InjectionResult NotPossible(const std::string& why) {
    if (required_) {
      result_.outcome = InjectionOutcome::kRefused;
      result_.message = "podcache: this pod requires a cache, but " + why;
    } else {
      Warn("not injected: " + why);
    }
    return std::move(result_);
  }

  // A container of our name alone does not make it ours.
  bool IsOurs() const {
    return HasOurContainer(spec_) && !Annotation(kInjectedByAnnotation).empty() &&
           labels_.contains(std::string(kSidecarLabel));
  }

  // Other webhooks may have added containers since: they get the socket as well.
  InjectionResult AlreadyInjected(const CacheSidecar* sidecar) {
    result_.outcome = InjectionOutcome::kUnchanged;
    if (sidecar != nullptr && sidecar->spec.listen.unix_socket.enabled &&
        PodPatch::HasVolume(spec_, kSocketVolume)) {
      PodPatch patch(input_.pod);
      patch.MountSocket(sidecar->spec.listen.unix_socket);
      result_.patch = patch.Take();
    }
    return std::move(result_);
  }

  bool IsJobLike() const {
    const json& policy = Member(spec_, "restartPolicy");
    return policy == "Never" || policy == "OnFailure";
  }

  const CacheProfile* ProfileOf(const CacheSidecarSpec& spec) {
    const std::string name =
        spec.profile_ref ? spec.profile_ref->name : std::string(kDefaultProfileName);
    const auto found = input_.profiles.find(name);
    if (found != input_.profiles.end()) return found->second;
    if (spec.profile_ref)
      Warn("CacheProfile " + name + " does not exist; the built-in rule is used");
    return nullptr;
  }

  std::string FindObstacle(const CacheSidecarSpec& spec, const SidecarSizing& sizing) const {
    if (std::string conflict = FindConflict(spec_, spec); !conflict.empty()) return conflict;
    if (!input_.native_sidecars && IsJobLike()) {
      return "this cluster has no native sidecars, and a plain container would keep the pod from "
             "completing";
    }
    if (sizing.cache_bytes == 0) {
      return "resources.memory.limit " + std::to_string(sizing.amounts.memory_limit_bytes) +
             " holds no cache under the sizing rules";
    }
    return FindLackOfRoom(spec_, sizing.amounts);
  }

  InjectionResult InjectFor(const CacheSidecar& sidecar) {
    const CacheSidecarSpec& spec = sidecar.spec;
    const PodQos qos = QosOf(spec_);
    const bool guaranteed = qos == PodQos::kGuaranteed && spec.qos == QosMode::kPreserve &&
                            !HasPodLevelResources(spec_);
    const std::vector<sizing::Rule> rules = RulesOf(spec, ProfileOf(spec));
    const SidecarSizing sizing =
        SizeSidecar(spec, PossibleRules(rules, TextMap(Member(spec_, "nodeSelector"))), guaranteed);
    if (const std::string obstacle = FindObstacle(spec, sizing); !obstacle.empty()) {
      return NotPossible(obstacle);
    }
    if (qos == PodQos::kBestEffort)
      Warn("pod becomes Burstable: the cache has requests and limits");
    result_.patch = BuildPatch(sidecar, rules, sizing);
    result_.outcome = InjectionOutcome::kInjected;
    return std::move(result_);
  }

  std::string BuildPatch(const CacheSidecar& sidecar, const std::vector<sizing::Rule>& rules,
                         const SidecarSizing& sizing) const {
    const CacheSidecarSpec& spec = sidecar.spec;
    const json container =
        BuildSidecarContainer({.spec = spec,
                               .default_image = input_.default_image,
                               .amounts = sizing.amounts,
                               .pod_config = BuildPodConfig(sidecar, rules),
                               .admin_ca_pem = input_.admin_ca_pem,
                               .admin_identity_hex = input_.identity_hex(input_.nonce),
                               .native = input_.native_sidecars});
    PodPatch patch(input_.pod);
    patch.SetLabel(kSidecarLabel, sidecar.metadata.name);
    patch.SetAnnotation(kInjectedByAnnotation, input_.ns + "/" + sidecar.metadata.name);
    patch.SetAnnotation(kConfigHashAnnotation, RestartHash(spec));
    patch.SetAnnotation(kAppliedResourcesAnnotation, ToResourcesJson(sizing.amounts).dump());
    patch.SetAnnotation(kIdentityAnnotation, input_.nonce);
    patch.AddVolumes(BuildSidecarVolumes(spec));
    patch.AddContainer(container, input_.native_sidecars);
    if (spec.listen.unix_socket.enabled) patch.MountSocket(spec.listen.unix_socket);
    return patch.Take();
  }

  const InjectionInput& input_;
  const json& spec_;
  const std::map<std::string, std::string> labels_;
  const std::map<std::string, std::string> annotations_;
  const bool required_;
  InjectionResult result_;
};

}  // namespace

InjectionResult Inject(const InjectionInput& input) { return Injection(input).Run(); }

}  // namespace podcache::control
