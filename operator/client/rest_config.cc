#include "operator/client/rest_config.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "operator/client/file_util.h"

namespace podcache::kube {
namespace {

std::string Environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::vector<std::string> SplitPaths(const std::string& list) {
  std::vector<std::string> paths;
  std::size_t begin = 0;
  while (begin <= list.size()) {
    const std::size_t end = std::min(list.find(':', begin), list.size());
    if (end > begin) paths.push_back(list.substr(begin, end - begin));
    begin = end + 1;
  }
  return paths;
}

}  // namespace

absl::StatusOr<RestConfig> InClusterConfig(std::string_view host, std::string_view port,
                                           std::string_view folder) {
  if (host.empty() || port.empty()) {
    return FailedPrecondition(
        "not in a cluster: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set");
  }
  const std::filesystem::path base(folder);
  RestConfig config;
  const bool ipv6 = host.find(':') != std::string_view::npos;
  config.server = "https://";
  config.server.append(ipv6 ? "[" : "").append(host).append(ipv6 ? "]:" : ":").append(port);
  config.token.file = (base / "token").string();
  config.ca.file = (base / "ca.crt").string();
  // The token must be there from the start: a pod without one is a mistake to tell at once.
  if (const auto token = ReadSmallFile(config.token.file); !token.ok()) {
    return WithContext(token.status(), "service account");
  }
  if (const auto ns = ReadSmallFile((base / "namespace").string()); ns.ok()) {
    config.default_namespace = Trimmed(*ns);
  }
  return config;
}

absl::StatusOr<RestConfig> DefaultConfig(const std::string& path, const std::string& context) {
  if (!path.empty()) return KubeconfigConfig({path}, context);
  if (const std::string list = Environment("KUBECONFIG"); !list.empty()) {
    return KubeconfigConfig(SplitPaths(list), context);
  }
  const std::string host = Environment("KUBERNETES_SERVICE_HOST");
  if (!host.empty()) return InClusterConfig(host, Environment("KUBERNETES_SERVICE_PORT"));
  const std::string home = Environment("HOME");
  if (home.empty()) return FailedPrecondition("no kubeconfig: neither KUBECONFIG nor HOME is set");
  return KubeconfigConfig({home + "/.kube/config"}, context);
}

}  // namespace podcache::kube
