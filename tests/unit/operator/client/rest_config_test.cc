#include "operator/client/rest_config.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

namespace podcache::kube {
namespace {

class RestConfigTest : public testing::Test {
 protected:
  RestConfigTest() {
    std::string pattern = std::filesystem::temp_directory_path() / "config.XXXXXX";
    folder_ = mkdtemp(pattern.data());
  }
  ~RestConfigTest() override { std::filesystem::remove_all(folder_); }
  std::string Write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
    return folder_ / name;
  }
  absl::StatusOr<RestConfig> Kubeconfig(const std::string& text, const std::string& context = "") {
    return KubeconfigConfig({Write("kubeconfig", text)}, context);
  }

  std::filesystem::path folder_;
};

TEST_F(RestConfigTest, InCluster) {
  Write("token", "secret\n");
  Write("namespace", "shop\n");
  const auto config = InClusterConfig("10.96.0.1", "443", folder_.string());
  ASSERT_TRUE(config.ok());
  EXPECT_EQ(config->server, "https://10.96.0.1:443");
  EXPECT_EQ(config->token.file, folder_ / "token");
  EXPECT_EQ(config->ca.file, folder_ / "ca.crt");
  EXPECT_EQ(config->default_namespace, "shop");
  EXPECT_FALSE(config->insecure);
}

TEST_F(RestConfigTest, InClusterWithIpv6) {
  Write("token", "secret");
  EXPECT_EQ(InClusterConfig("fd00::1", "6443", folder_.string())->server, "https://[fd00::1]:6443");
}

TEST_F(RestConfigTest, NotInACluster) {
  EXPECT_EQ(InClusterConfig("", "", folder_.string()).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_FALSE(InClusterConfig("10.96.0.1", "443", folder_.string()).ok());  // No token.
}

// "CA" and "CERT" in base64, by RFC 4648.
constexpr char kTwoContexts[] = R"(
apiVersion: v1
kind: Config
current-context: first
clusters:
- name: c1
  cluster: {server: "https://api.example:6443/", certificate-authority-data: Q0E=}
- name: c2
  cluster: {server: "http://127.0.0.1:8080", insecure-skip-tls-verify: true, tls-server-name: api, proxy-url: "http://p:1"}
users:
- name: u1
  user: {client-certificate-data: Q0VSVA==, client-key: keys/client.key}
- name: u2
  user: {token: t0ken}
contexts:
- name: first
  context: {cluster: c1, user: u1, namespace: shop}
- name: second
  context: {cluster: c2, user: u2}
)";

TEST_F(RestConfigTest, KubeconfigWithCertificates) {
  const auto config = Kubeconfig(kTwoContexts);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "https://api.example:6443");
  EXPECT_EQ(config->ca.text, "CA");
  EXPECT_EQ(config->client_certificate.text, "CERT");
  EXPECT_EQ(config->client_key.file, folder_ / "keys/client.key");
  EXPECT_TRUE(config->token.empty());
  EXPECT_FALSE(config->insecure);
  EXPECT_EQ(config->default_namespace, "shop");
}

TEST_F(RestConfigTest, KubeconfigWithTokenInANamedContext) {
  const auto config = Kubeconfig(kTwoContexts, "second");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->server, "http://127.0.0.1:8080");
  EXPECT_EQ(config->token.text, "t0ken");
  EXPECT_TRUE(config->insecure);
  EXPECT_EQ(config->tls_server_name, "api");
  EXPECT_EQ(config->proxy_url, "http://p:1");
  EXPECT_EQ(config->default_namespace, "default");
}

TEST_F(RestConfigTest, SeveralFilesAreOneConfiguration) {
  const std::string first = Write("first", R"(
current-context: mixed
contexts: [{name: mixed, context: {cluster: c2, user: u2}}]
)");
  const std::string second = Write("second", kTwoContexts);
  const auto config = KubeconfigConfig({(folder_ / "absent").string(), first, second}, "");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->token.text, "t0ken");
}

TEST_F(RestConfigTest, MistakesAreNamed) {
  const auto message = [this](const std::string& text, const std::string& context = "") {
    const auto config = Kubeconfig(text, context);
    EXPECT_FALSE(config.ok());
    return std::string(MessageOf(config.status()));
  };
  EXPECT_NE(message(kTwoContexts, "third").find("no \"third\" under contexts"), std::string::npos);
  EXPECT_NE(message("a: [").find("kubeconfig: "), std::string::npos);
  EXPECT_NE(message("").find("is no kubeconfig"), std::string::npos);
  EXPECT_NE(message("{}").find("no current-context"), std::string::npos);
  EXPECT_NE(message(R"(
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://x", certificate-authority-data: "?"}}]
)")
                .find("certificate-authority-data: is not base64"),
            std::string::npos);
  EXPECT_NE(message(R"(
current-context: c
contexts: [{name: c, context: {cluster: c, user: u}}]
clusters: [{name: c, cluster: {server: "https://x"}}]
users: [{name: u, user: {exec: {command: aws}}}]
)")
                .find("\"exec\" is not supported"),
            std::string::npos);
  EXPECT_FALSE(KubeconfigConfig({(folder_ / "absent").string()}, "").ok());
  EXPECT_FALSE(KubeconfigConfig({}, "").ok());
}

}  // namespace
}  // namespace podcache::kube
