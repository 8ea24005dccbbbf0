// Names of things in the Kubernetes API: which resource, which object, which path.
//
// A ResourceType is a compile-time constant; the kinds of Kubernetes itself that a controller
// commonly needs are listed here, a product's own kinds beside its types. Threads: values, any
// thread.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace podcache::kube {

struct ResourceType {
  std::string_view group;  // Empty for the core group.
  std::string_view version;
  std::string_view plural;
  std::string_view kind;
  bool namespaced;

  // "v1", "apps/v1".
  std::string ApiVersion() const;
};

inline constexpr ResourceType kPods{"", "v1", "pods", "Pod", true};
inline constexpr ResourceType kNodes{"", "v1", "nodes", "Node", false};
inline constexpr ResourceType kNamespaces{"", "v1", "namespaces", "Namespace", false};
inline constexpr ResourceType kServices{"", "v1", "services", "Service", true};
inline constexpr ResourceType kConfigMaps{"", "v1", "configmaps", "ConfigMap", true};
inline constexpr ResourceType kSecrets{"", "v1", "secrets", "Secret", true};
inline constexpr ResourceType kEvents{"events.k8s.io", "v1", "events", "Event", true};
inline constexpr ResourceType kLeases{"coordination.k8s.io", "v1", "leases", "Lease", true};
inline constexpr ResourceType kStatefulSets{"apps", "v1", "statefulsets", "StatefulSet", true};
inline constexpr ResourceType kPodDisruptionBudgets{"policy", "v1", "poddisruptionbudgets",
                                                    "PodDisruptionBudget", true};
inline constexpr ResourceType kMutatingWebhookConfigurations{"admissionregistration.k8s.io", "v1",
                                                             "mutatingwebhookconfigurations",
                                                             "MutatingWebhookConfiguration", false};
inline constexpr ResourceType kCustomResourceDefinitions{
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition", false};

// Namespace and name of an object; the namespace of a cluster-scoped one is empty.
struct NamespacedName {
  std::string ns{};
  std::string name{};

  // "ns/name", or "name" alone for cluster-scoped objects.
  std::string ToString() const { return ns.empty() ? name : ns + "/" + name; }
  // The reverse of ToString; names hold no slash.
  static NamespacedName Parse(std::string_view text);
  bool operator==(const NamespacedName&) const = default;
};

// One object, or with a subresource a part of it: {kPods, "shop", "web-0", "resize"}.
struct ObjectRef {
  ResourceType type;
  std::string ns{};  // Ignored for cluster-scoped types.
  std::string name{};
  std::string subresource{};  // Empty for the object itself.
};

// Everything but unreserved characters of RFC 3986 becomes %XX, slashes included.
std::string PercentEncode(std::string_view text);

// Whether a name can stand in a path at all. Encoding does not save the others: the API server
// splits the decoded path, so "a%2F" reaches "a", and an empty name reaches the whole collection.
bool IsPathSegment(std::string_view name);

// "/api/v1/namespaces/shop/pods"; with an empty ns the collection over all namespaces.
std::string CollectionPath(const ResourceType& type, std::string_view ns);
std::string ObjectPath(const ObjectRef& ref);

// "?a=b&c=d" with both sides encoded; pairs with an empty value are left out; empty when nothing is
// left.
std::string QueryString(const std::vector<std::pair<std::string_view, std::string>>& parameters);

}  // namespace podcache::kube
