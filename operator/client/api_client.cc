#include "operator/client/api_client.h"

#include <algorithm>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

namespace podcache::kube {

absl::StatusOr<bool> IsServed(ApiClient& client, std::string_view group_version,
                              std::string_view resource) {
  const absl::StatusOr<std::vector<std::string>> names = client.Discover(group_version);
  if (!names.ok()) {
    if (absl::IsNotFound(names.status())) return false;
    return names.status();
  }
  return std::find(names->begin(), names->end(), resource) != names->end();
}

absl::StatusOr<std::vector<Object>> ListAll(ApiClient& client, const ResourceType& type,
                                            std::string_view ns, ListOptions options) {
  std::vector<Object> objects;
  do {
    PODCACHE_ASSIGN_OR_RETURN(ListPage page, client.List(type, ns, options));
    std::move(page.items.begin(), page.items.end(), std::back_inserter(objects));
    options.continue_token = std::move(page.continue_token);
    // The token stands for the version of the first page; both together are refused.
    options.resource_version.clear();
    options.resource_version_match.clear();
  } while (!options.continue_token.empty());
  return objects;
}

absl::Status Evict(ApiClient& client, const NamespacedName& pod,
                   const std::optional<std::string>& uid) {
  nlohmann::json body = {{"apiVersion", "policy/v1"},
                         {"kind", "Eviction"},
                         {"metadata", {{"name", pod.name}, {"namespace", pod.ns}}}};
  if (uid) body["deleteOptions"] = {{"preconditions", {{"uid", *uid}}}};
  const ObjectRef ref{.type = kPods, .ns = pod.ns, .name = pod.name, .subresource = "eviction"};
  return client.CreateSubresource(ref, Object(std::move(body)), {}).status();
}

}  // namespace podcache::kube
