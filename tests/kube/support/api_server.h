// Access to the real kube-apiserver with etcd that ctest has started (podcache_needs_apiserver):
// PODCACHE_KUBECONFIG says where. By hand: export PODCACHE_KUBECONFIG=$(tests/cluster/apiserver up
// DIR).
//
// There is no controller manager, scheduler or kubelet: pods stay as the test writes them. The
// server is shared with other tests and lives on: use namespaces of your own, delete what is
// cluster-wide. Threads: any.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "common/base/clock.h"
#include "operator/client/curl_transport.h"
#include "operator/client/http_api_client.h"
#include "operator/client/rest_config.h"

namespace podcache::kube {

// A client with its own transport.
struct Connection {
  explicit Connection(const RestConfig& config,
                      std::chrono::milliseconds timeout = std::chrono::seconds(30));

  SystemClock clock;
  std::unique_ptr<CurlTransport> transport;
  std::unique_ptr<HttpApiClient> client;
};

class ApiServer {
 public:
  ApiServer();

  // As the administrator by token; "-cert": by client certificate; "-operator": with the operator's
  // rights.
  RestConfig Config(const std::string& suffix = "") const;
  HttpApiClient& admin() { return *admin_.client; }
  // A new namespace, whose name begins with the prefix.
  std::string NewNamespace(const std::string& prefix);
  // Forgets all history of etcd up to now.
  void CompactEtcd();

 private:
  const std::string kubeconfig_;
  Connection admin_;
};

}  // namespace podcache::kube
