// The API server that ctest started (PODCACHE_KUBECONFIG), prepared for the operator: CRDs, roles,
// webhook configuration; what it recorded; and the operator as a process of its own.
//
// Threads: one.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <utility>
#include <vector>

#include "common/base/clock.h"
#include "operator/client/curl_transport.h"
#include "operator/client/http_api_client.h"

namespace podcache::control {

// Until true or the time is over, which is a failure that shows `what`.
bool WaitFor(const std::string& what, const std::function<bool()>& check,
             std::chrono::seconds timeout = std::chrono::seconds(20));

// A port nobody listens on now.
std::uint16_t FreePort();

struct Ports {
  std::uint16_t webhook = FreePort();
  std::uint16_t metrics = FreePort();
  std::uint16_t health = FreePort();
  std::uint16_t cache_admin = FreePort();
};

class TestCluster {
 public:
  // Throws std::runtime_error with the reason where preparation fails.
  TestCluster();

  kube::HttpApiClient& api() { return *api_; }
  std::string kubeconfig(const std::string& suffix = "") const { return kubeconfig_ + suffix; }
  std::string NewNamespace();
  // Points both webhook entries at https://127.0.0.1:port/mutate.
  void InstallWebhook(std::uint16_t port);
  void RemoveLease();

  // One answered request of the API server's audit log.
  struct Audited {
    std::string verb;
    std::string resource;  // "pods/resize"
    std::string ns;
    std::string name;
    std::string agent;
    int code = 0;
    std::string request;  // Body as JSON text, if recorded.
  };
  std::vector<Audited> AuditOf(const std::string& ns) const;

  // With fields of the operator's clients.
  nlohmann::json Get(const kube::ResourceType& type, const std::string& ns,
                     const std::string& name);
  // Server-side apply; the object names kind, namespace and name.
  void Apply(const kube::ResourceType& type, nlohmann::json object);
  // Raw HTTP: code and body.
  std::pair<int, std::string> Send(const std::string& method, const std::string& path,
                                   const std::string& body, const std::string& content_type);

 private:
  void ApplyYamlFile(const std::string& path);

  SystemClock clock_;
  std::string kubeconfig_;
  std::unique_ptr<kube::CurlTransport> transport_;
  std::unique_ptr<kube::HttpApiClient> api_;
};

// podcache-operator, running. Stopped (SIGTERM, then SIGKILL) at the end.
class OperatorProcess {
 public:
  OperatorProcess(const TestCluster& cluster, const Ports& ports,
                  const std::vector<std::string>& more_arguments = {});
  ~OperatorProcess();

  bool WaitUntilReady() const;
  void Signal(int signal) const;
  // The exit code, or 128 + signal; -1 if it does not end in time.
  int WaitForEnd(std::chrono::seconds timeout);
  // GET from its health or metrics port; empty if nobody answers.
  static std::string Fetch(std::uint16_t port, const std::string& path, long* code = nullptr);

 private:
  const Ports ports_;
  pid_t pid_ = -1;
};

}  // namespace podcache::control
