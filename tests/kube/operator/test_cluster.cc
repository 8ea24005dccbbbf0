#include "tests/kube/operator/test_cluster.h"

#include <arpa/inet.h>
#include <curl/curl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <yaml-cpp/yaml.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <thread>

#include "common/status/status.h"
#include "operator/client/rest_config.h"
#include "operator/reconcile/our_objects.h"

namespace podcache::control {

namespace {

using nlohmann::json;

constexpr const char* kOperatorNamespace = "podcache-system";

// Where objects of the kinds in our YAML files live.
std::string PathOf(const YAML::Node& object) {
  static const std::map<std::string, std::string> kCollections = {
      {"CustomResourceDefinition", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"},
      {"ClusterRole", "/apis/rbac.authorization.k8s.io/v1/clusterroles/"},
      {"ClusterRoleBinding", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings/"},
      {"Role", "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/roles/"},
      {"RoleBinding", "/apis/rbac.authorization.k8s.io/v1/namespaces/NS/rolebindings/"}};
  const auto found = kCollections.find(object["kind"].as<std::string>());
  if (found == kCollections.end()) return {};
  std::string path = found->second;
  if (const auto at = path.find("NS"); at != std::string::npos) {
    path.replace(at, 2, object["metadata"]["namespace"].as<std::string>());
  }
  return path + object["metadata"]["name"].as<std::string>();
}

std::size_t AppendTo(char* data, std::size_t size, std::size_t count, void* out) {
  static_cast<std::string*>(out)->append(data, size * count);
  return size * count;
}

json WebhookEntry(const std::string& name, const std::string& label, const std::string& policy,
                  std::uint16_t port) {
  return {{"name", name},
          {"admissionReviewVersions", {"v1"}},
          {"clientConfig", {{"url", "https://127.0.0.1:" + std::to_string(port) + "/mutate"}}},
          {"failurePolicy", policy},
          {"reinvocationPolicy", "IfNeeded"},
          {"sideEffects", "None"},
          {"timeoutSeconds", 3},
          {"rules", json::array({{{"operations", {"CREATE"}},
                                  {"apiGroups", {""}},
                                  {"apiVersions", {"v1"}},
                                  {"resources", {"pods"}},
                                  {"scope", "Namespaced"}}})},
          {"objectSelector",
           {{"matchExpressions",
             json::array(
                 {{{"key", "podcache.dev/inject"}, {"operator", "In"}, {"values", {label}}}})}}}};
}

}  // namespace

bool WaitFor(const std::string& what, const std::function<bool()>& check,
             std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (std::chrono::steady_clock::now() < deadline) {
    if (check()) return true;
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ADD_FAILURE() << "not in time: " << what;
  return false;
}

std::uint16_t FreePort() {
  const int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t length = sizeof(address);
  // NOLINTBEGIN(cppcoreguidelines-pro-type-reinterpret-cast): the sockets API.
  EXPECT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&address), length), 0);
  EXPECT_EQ(getsockname(fd, reinterpret_cast<sockaddr*>(&address), &length), 0);
  // NOLINTEND(cppcoreguidelines-pro-type-reinterpret-cast)
  close(fd);
  return ntohs(address.sin_port);
}

TestCluster::TestCluster() {
  const char* path = std::getenv("PODCACHE_KUBECONFIG");
  if (path == nullptr) throw std::runtime_error("PODCACHE_KUBECONFIG is not set; run by ctest");
  kubeconfig_ = path;
  const auto config = kube::KubeconfigConfig({kubeconfig_}, "");
  if (!config.ok()) throw std::runtime_error(podcache::ToString(config.status()));
  auto transport = kube::CurlTransport::Create(*config, "operator-test", clock_, {});
  if (!transport.ok()) throw std::runtime_error(podcache::ToString(transport.status()));
  transport_ = *std::move(transport);
  api_ = std::make_unique<kube::HttpApiClient>(*transport_, clock_, nullptr);
  Apply(kube::kNamespaces, {{"metadata", {{"name", kOperatorNamespace}}}});
  for (const auto& file : std::filesystem::directory_iterator("manifests/crd")) {
    if (file.path().extension() == ".yaml") ApplyYamlFile(file.path());
  }
  ApplyYamlFile("manifests/rbac/roles.yaml");
  // As the installation brings them: empty, so that the operator needs rights on two names only.
  for (const auto& [type, name] : {std::pair(kube::kSecrets, "podcache-certs")}) {
    Apply(type, {{"metadata", {{"name", name}, {"namespace", kOperatorNamespace}}}});
  }
  WaitFor("CRDs are served", [this] {
    return Send("GET", "/apis/podcache.dev/v1alpha1/cachesidecars", "", "").first == 200 &&
           Send("GET", "/apis/podcache.dev/v1alpha1/cacheprofiles", "", "").first == 200;
  });
}

void TestCluster::ApplyYamlFile(const std::string& path) {
  std::ifstream file(path);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  // Documents are sent as they are written: a YAML library would lose the quotes.
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find("\n---\n", begin), text.size());
    const std::string document = text.substr(begin, end - begin);
    begin = end + 5;
    const YAML::Node object = YAML::Load(document);
    const std::string target = object.IsMap() ? PathOf(object) : std::string();
    if (target.empty()) continue;
    const auto [code, body] = Send("PATCH", target + "?fieldManager=operator-test&force=true",
                                   document, "application/apply-patch+yaml");
    if (code / 100 != 2) throw std::runtime_error(path + ": " + body);
  }
}

std::pair<int, std::string> TestCluster::Send(const std::string& method, const std::string& path,
                                              const std::string& body,
                                              const std::string& content_type) {
  const auto response = transport_->Send(
      {.method = method, .target = path, .content_type = content_type, .body = body});
  if (!response.ok()) return {0, podcache::ToString(response.status())};
  return {response->code, response->body};
}

std::string TestCluster::NewNamespace() {
  const auto made =
      api_->Create(kube::kNamespaces,
                   kube::Object(json{{"metadata", {{"generateName", "operator-test-"}}}}), {});
  EXPECT_TRUE(made.ok()) << made.status();
  return std::string(made->name());
}

void TestCluster::InstallWebhook(std::uint16_t port) {
  // A new one each time: no CA of an earlier operator is left in it.
  const kube::ObjectRef ref{kube::kMutatingWebhookConfigurations, "", "podcache-injector", ""};
  (void)api_->Delete(ref, {});
  const auto made = api_->Create(
      kube::kMutatingWebhookConfigurations,
      kube::Object(json{
          {"metadata", {{"name", "podcache-injector"}}},
          {"webhooks",
           json::array({WebhookEntry("inject.podcache.dev", "true", "Ignore", port),
                        WebhookEntry("inject-required.podcache.dev", "required", "Fail", port)})}}),
      {});
  EXPECT_TRUE(made.ok()) << made.status();
}

void TestCluster::RemoveLease() {
  (void)api_->Delete({kube::kLeases, kOperatorNamespace, "podcache-operator", ""}, {});
}

std::vector<TestCluster::Audited> TestCluster::AuditOf(const std::string& ns) const {
  std::vector<Audited> found;
  std::ifstream file(std::filesystem::path(kubeconfig_).parent_path() / "audit.log");
  for (std::string line; std::getline(file, line);) {
    const json entry = json::parse(line, nullptr, false);
    if (entry.is_discarded() || entry.value("stage", "") != "ResponseComplete") continue;
    const json reference = entry.value("objectRef", json::object());
    if (reference.value("namespace", "") != ns) continue;
    std::string resource = reference.value("resource", "");
    if (reference.contains("subresource"))
      resource += "/" + reference["subresource"].get<std::string>();
    found.push_back(
        {.verb = entry.value("verb", ""),
         .resource = resource,
         .ns = ns,
         .name = reference.value("name", ""),
         .agent = entry.value("userAgent", ""),
         .code = entry.value("responseStatus", json::object()).value("code", 0),
         .request = entry.contains("requestObject") ? entry["requestObject"].dump() : ""});
  }
  return found;
}

json TestCluster::Get(const kube::ResourceType& type, const std::string& ns,
                      const std::string& name) {
  const auto object = api_->Get({type, ns, name, ""});
  EXPECT_TRUE(object.ok()) << object.status();
  return object.ok() ? object->json() : json();
}

void TestCluster::Apply(const kube::ResourceType& type, json object) {
  object["apiVersion"] = type.ApiVersion();
  object["kind"] = std::string(type.kind);
  const kube::Object wanted(std::move(object));
  const auto applied = api_->Apply({type, std::string(wanted.ns()), std::string(wanted.name()), ""},
                                   wanted, {.field_manager = "operator-test"});
  EXPECT_TRUE(applied.ok()) << applied.status();
}

OperatorProcess::OperatorProcess(const TestCluster& cluster, const Ports& ports,
                                 const std::vector<std::string>& more_arguments)
    : ports_(ports) {
  const auto loopback = [](std::uint16_t port) { return "127.0.0.1:" + std::to_string(port); };
  std::vector<std::string> arguments = {PODCACHE_OPERATOR_BINARY,
                                        "--kubeconfig=" + cluster.kubeconfig("-operator"),
                                        "--namespace=" + std::string(kOperatorNamespace),
                                        "--webhook-port=" + std::to_string(ports.webhook),
                                        "--webhook-host=127.0.0.1",
                                        "--metrics-listen=" + loopback(ports.metrics),
                                        "--health-listen=" + loopback(ports.health),
                                        "--cache-admin-port=" + std::to_string(ports.cache_admin),
                                        "--server-image=podcached:test"};
  arguments.insert(arguments.end(), more_arguments.begin(), more_arguments.end());
  std::vector<char*> argv;
  for (std::string& argument : arguments) argv.push_back(argument.data());
  argv.push_back(nullptr);
  pid_ = fork();
  if (pid_ == 0) {
    execv(argv[0], argv.data());
    _exit(127);
  }
}

OperatorProcess::~OperatorProcess() {
  if (pid_ < 0) return;
  Signal(SIGTERM);
  if (WaitForEnd(std::chrono::seconds(20)) == -1 && pid_ > 0) {
    Signal(SIGKILL);
    WaitForEnd(std::chrono::seconds(5));
  }
}

bool OperatorProcess::WaitUntilReady() const {
  return WaitFor("operator is ready", [this] {
    long code = 0;
    Fetch(ports_.health, "/readyz", &code);
    return code == 200;
  });
}

void OperatorProcess::Signal(int signal) const {
  if (pid_ > 0) kill(pid_, signal);
}

int OperatorProcess::WaitForEnd(std::chrono::seconds timeout) {
  const auto deadline = std::chrono::steady_clock::now() + timeout;
  while (pid_ > 0 && std::chrono::steady_clock::now() < deadline) {
    int status = 0;
    if (waitpid(pid_, &status, WNOHANG) == pid_) {
      pid_ = -1;
      return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  return -1;
}

std::string OperatorProcess::Fetch(std::uint16_t port, const std::string& path, long* code) {
  std::string body;
  CURL* curl = curl_easy_init();
  const std::string url = "http://127.0.0.1:" + std::to_string(port) + path;
  curl_easy_setopt(curl, CURLOPT_URL, url.c_str());
  curl_easy_setopt(curl, CURLOPT_NOPROXY, "*");
  curl_easy_setopt(curl, CURLOPT_TIMEOUT, 5L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, &AppendTo);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &body);
  long answered = 0;
  if (curl_easy_perform(curl) == CURLE_OK)
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &answered);
  curl_easy_cleanup(curl);
  if (code != nullptr) *code = answered;
  return body;
}

}  // namespace podcache::control
