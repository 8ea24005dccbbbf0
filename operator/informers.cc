#include "operator/informers.h"

#include "operator/reconcile/pod_view.h"
#include "operator/resources/names.h"

namespace podcache::control {

std::unique_ptr<Informers> BuildInformers(kube::ApiClient& client,
                                          const std::vector<std::string>& namespaces,
                                          const Clock& clock, std::uint64_t seed,
                                          const Logger& log) {
  auto built = std::make_unique<Informers>();
  const auto make = [&](const kube::ResourceType& type, kube::ReflectorOptions options) {
    return std::make_unique<kube::Informer>(client, type, std::move(options),
                                            kube::InformerOptions{}, clock, seed++, log);
  };
  const std::vector<std::string> all = {""};
  for (const std::string& ns : namespaces.empty() ? all : namespaces) {
    kube::ReflectorOptions of_namespace;
    of_namespace.ns = ns;
    built->sidecars.push_back(make(kCacheSidecars, of_namespace));
    of_namespace.label_selector = std::string(kInjectLabel);
    of_namespace.transform = &ShrinkPod;
    built->pods.push_back(make(kube::kPods, of_namespace));
  }
  if (namespaces.empty()) {
    built->profiles = make(kCacheProfiles, {});
    built->stores.profiles.Add(built->profiles->store());
  }
  for (const auto& informer : built->sidecars) built->stores.sidecars.Add(informer->store());
  for (const auto& informer : built->pods) built->stores.pods.Add(informer->store());
  return built;
}

}  // namespace podcache::control
