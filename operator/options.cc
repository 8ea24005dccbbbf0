#include "operator/options.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <iostream>
#include <map>

#include "common/base/version.h"

namespace podcache::control {

namespace {

constexpr const char* kDescription =
    "Podcache operator: puts a cache beside the app of pods that ask for one, and resizes it while "
    "it runs.";

void AddClusterOptions(CLI::App& app, Options& options) {
  app.add_option("--namespace", options.ns, "Namespace of the operator itself")
      ->envname("POD_NAMESPACE");
  app.add_option("--watch-namespaces", options.watch_namespaces,
                 "Comma-separated namespaces to look after; all if not given. CacheProfiles are "
                 "then not read")
      ->delimiter(',');
  app.add_option(
      "--kubeconfig", options.kubeconfig,
      "Kubeconfig file; by default $KUBECONFIG, the pod's service account, ~/.kube/config");
  app.add_option("--context", options.context, "Context of the kubeconfig");
  app.add_option(
         "--leader-elect", options.leader_elect,
         "Act only while holding the Lease podcache-operator; off for a single replica only")
      ->expected(0, 1)
      ->default_val(true);
  app.add_flag("--read-nodes", options.read_nodes,
               "Read labels of nodes, for sizing rules with match.nodeSelector (needs the right to "
               "get nodes)");
}

void AddCacheOptions(CLI::App& app, Options& options) {
  app.add_option("--server-image", options.server_image,
                 "Image of the cache, unless a CacheSidecar names one")
      ->capture_default_str();
  app.add_option("--max-concurrent-resizes", options.max_concurrent_resizes,
                 "How many pods are resized at the same time")
      ->check(CLI::Range(1, 1000))
      ->capture_default_str();
  app.add_option("--cache-admin-port", options.cache_admin_port,
                 "Port of the caches' admin service")
      ->check(CLI::Range(1, 65535))
      ->capture_default_str();
}

void AddListenOptions(CLI::App& app, Options& options) {
  app.add_option("--webhook-service", options.webhook_service,
                 "Service in front of the webhook: names in its certificate")
      ->capture_default_str();
  app.add_option("--webhook-configuration", options.webhook_configuration,
                 "MutatingWebhookConfiguration that gets the CA")
      ->capture_default_str();
  app.add_option("--webhook-host", options.webhook_hosts,
                 "Another name or address in the webhook's certificate, for a webhook reached by "
                 "URL (repeatable)");
  app.add_option("--webhook-port", options.webhook_port, "Port of the webhook; 0: any free one")
      ->check(CLI::Range(0, 65535))
      ->capture_default_str();
  app.add_option("--metrics-listen", options.metrics_listen,
                 "Address of /metrics; * is every address of both families")
      ->capture_default_str();
  app.add_option("--health-listen", options.health_listen, "Address of /healthz and /readyz")
      ->capture_default_str();
}

}  // namespace

ParseResult ParseOptions(int argc, const char* const* argv, Options& options) {
  CLI::App app(kDescription, "podcache-operator");
  app.set_version_flag("--version", std::string(Version()) + " (" + std::string(Revision()) + ")");
  AddClusterOptions(app, options);
  AddCacheOptions(app, options);
  AddListenOptions(app, options);
  const std::map<std::string, LogLevel> levels = {{"debug", LogLevel::kDebug},
                                                  {"info", LogLevel::kInfo},
                                                  {"warning", LogLevel::kWarning},
                                                  {"error", LogLevel::kError}};
  app.add_option("--log-level", options.log_level, "debug, info, warning or error [info]")
      ->transform(CLI::CheckedTransformer(levels, CLI::ignore_case));
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? ParseResult::kExitOk : ParseResult::kExitUsage;
  }
  if (options.ns.empty()) {
    std::cerr << "--namespace is required outside a pod (in one, POD_NAMESPACE is used)\n";
    return ParseResult::kExitUsage;
  }
  return ParseResult::kRun;
}

}  // namespace podcache::control
