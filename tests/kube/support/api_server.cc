#include "tests/kube/support/api_server.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "common/base/check.h"
namespace podcache::kube {
namespace {

std::string KubeconfigPath() {
  const char* path = std::getenv("PODCACHE_KUBECONFIG");
  PODCACHE_CHECK(path != nullptr);  // See the header for how to start a server.
  return path;
}

}  // namespace

Connection::Connection(const RestConfig& config, std::chrono::milliseconds timeout) {
  auto created = CurlTransport::Create(config, "podcache-kube-test", clock, std::stop_token());
  PODCACHE_CHECK(created.ok());
  transport = *std::move(created);
  client = std::make_unique<HttpApiClient>(*transport, clock, nullptr, timeout);
}

ApiServer::ApiServer() : kubeconfig_(KubeconfigPath()), admin_(Config()) {}

RestConfig ApiServer::Config(const std::string& suffix) const {
  auto config = KubeconfigConfig({kubeconfig_ + suffix}, "");
  PODCACHE_CHECK(config.ok());
  return *config;
}

std::string ApiServer::NewNamespace(const std::string& prefix) {
  const Object wanted(nlohmann::json{{"metadata", {{"generateName", prefix + "-"}}}});
  const auto created = admin().Create(kNamespaces, wanted, {});
  EXPECT_TRUE(created.ok()) << created.status();
  return std::string(created->name());
}

void ApiServer::CompactEtcd() {
  std::string port;
  std::ifstream(std::filesystem::path(kubeconfig_).parent_path() / "etcd-port") >> port;
  RestConfig config;
  config.server = "http://127.0.0.1:" + port;
  const Connection etcd(config);
  const auto post = [&](const std::string& path, const nlohmann::json& body) {
    const auto response = etcd.transport->Send({.method = "POST",
                                                .target = path,
                                                .content_type = "application/json",
                                                .body = body.dump()});
    EXPECT_TRUE(response.ok() && response->code == 200) << response.status();
    return nlohmann::json::parse(response->body);
  };
  // Any key; in etcd's JSON bytes are base64 and numbers are text.
  const auto range = post("/v3/kv/range", {{"key", "AA=="}});
  post("/v3/kv/compaction", {{"revision", range.at("header").at("revision")}, {"physical", true}});
}

}  // namespace podcache::kube
