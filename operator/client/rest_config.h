// How to reach an API server and who we are there.
//
// Secrets are given as text or as a file; Credentials reads the files again and again, since
// clusters rotate them. Threads: values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "common/status/status.h"

namespace podcache::kube {

// Text wins over file; both empty means not given.
struct TextOrFile {
  std::string text{};
  std::string file{};
  bool empty() const { return text.empty() && file.empty(); }
};

struct RestConfig {
  std::string server{};  // "https://10.96.0.1:443", without a slash at the end.
  TextOrFile ca{};       // PEM; empty: the system's.
  TextOrFile token{};
  TextOrFile client_certificate{};  // PEM, with the key.
  TextOrFile client_key{};
  bool insecure = false;          // Accept any server certificate.
  std::string tls_server_name{};  // Expected in the certificate instead of the URL's host.
  std::string proxy_url{};        // The environment's proxy settings are not used.
  std::string default_namespace = "default";
};

inline constexpr std::string_view kServiceAccountFolder =
    "/var/run/secrets/kubernetes.io/serviceaccount";

// As a pod sees its cluster: host and port of the kubernetes service, token, CA and namespace from
// the folder.
absl::StatusOr<RestConfig> InClusterConfig(std::string_view host, std::string_view port,
                                           std::string_view folder = kServiceAccountFolder);

// From kubeconfig files, earlier ones winning; an empty context means current-context. Exec plugins
// and passwords are refused with a message that says so.
absl::StatusOr<RestConfig> KubeconfigConfig(const std::vector<std::string>& paths,
                                            const std::string& context);

// The usual search: the given path, $KUBECONFIG, the cluster we run in, ~/.kube/config.
absl::StatusOr<RestConfig> DefaultConfig(const std::string& path, const std::string& context);

}  // namespace podcache::kube
