// What the operator writes into a pod is what the server reads: both sides of
// docs/designs/0001-pod-contract.md.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "operator/resources/names.h"
#include "operator/resources/pod_config.h"
#include "operator/resources/sidecar_container.h"
#include "operator/resources/sizing_rules.h"
#include "server/options.h"
#include "server/pod_config.h"

namespace podcache::control {
namespace {

server::Options ParseArguments(const CacheSidecarSpec& spec) {
  const nlohmann::json container = BuildSidecarContainer({.spec = spec,
                                                          .default_image = "image",
                                                          .amounts = {},
                                                          .pod_config = "",
                                                          .admin_ca_pem = "",
                                                          .admin_identity_hex = ""});
  std::vector<std::string> words = {container["command"][0].get<std::string>()};
  for (const auto& word : container["args"]) words.push_back(word.get<std::string>());
  std::vector<const char*> arguments;
  for (const std::string& word : words) arguments.push_back(word.c_str());
  server::Options options;
  std::string error;
  EXPECT_TRUE(
      server::ParseOptions(static_cast<int>(arguments.size()), arguments.data(), options, error))
      << error;
  EXPECT_TRUE(server::ValidateOptions(options, error)) << error;
  return options;
}

TEST(PodContract, TheServerTakesTheArguments) {
  CacheSidecarSpec spec;
  spec.listen.port = 11300;
  spec.listen.unix_socket.enabled = true;
  const server::Options options = ParseArguments(spec);
  EXPECT_TRUE(options.loopback);
  EXPECT_EQ(options.port, 11300);
  EXPECT_EQ(options.extra_unix_socket, "/var/run/podcache/podcache.sock");
  EXPECT_EQ(options.unix_socket, "");
  EXPECT_EQ(options.http_listen, "*:9150");
  EXPECT_EQ(options.admin_listen,
            (std::vector<std::string>{"*:9151", "unix:" + std::string(kAdminSocketPath)}));
  // They come from the pod configuration.
  EXPECT_FALSE(options.memory_bytes);
  EXPECT_FALSE(options.threads);
  EXPECT_FALSE(options.max_item_size_given);
  EXPECT_FALSE(options.max_connections_given);
}

TEST(PodContract, TheServerTakesTheArgumentsOfASocketAlone) {
  CacheSidecarSpec spec;
  spec.listen.loopback = false;
  spec.listen.unix_socket.enabled = true;
  const server::Options options = ParseArguments(spec);
  EXPECT_FALSE(options.loopback);
  EXPECT_EQ(options.unix_socket, "/var/run/podcache/podcache.sock");
}

TEST(PodContract, TheServerReadsTheConfiguration) {
  CacheSidecar sidecar;
  sidecar.metadata.name = "web-l1";
  sidecar.metadata.namespace_name = "shop";
  sidecar.spec.memory.size_bytes = 256ULL << 20;
  sidecar.spec.memory.max_item_size_bytes = 2ULL << 20;
  sidecar.spec.max_connections = 100;
  sidecar.spec.threads = {.mode = ThreadsMode::kFixed, .count = 3};
  SizingRule rule;
  rule.name = "arm64";
  rule.match = {.arch = {"arm64"}, .page_size_bytes = 65536, .node_selector = {{"pool", "cache"}}};
  rule.threads = {.per_cpu_percent = 100, .min = 2, .max = 8};
  rule.memory = {.overhead_percent = 20, .overhead_fixed_bytes = 64ULL << 20};
  server::PodConfig config;
  std::string error;
  ASSERT_TRUE(server::ParsePodConfig(BuildPodConfig(sidecar, ToSizingRules({rule})), config, error))
      << error;
  EXPECT_EQ(config.sidecar, "shop/web-l1");
  EXPECT_EQ(config.config_hash, RestartHash(sidecar.spec));
  EXPECT_EQ(config.memory_bytes, 256ULL << 20);
  EXPECT_FALSE(config.memory_percent_of_limit);
  EXPECT_EQ(config.max_item_size_bytes, 2ULL << 20);
  EXPECT_EQ(config.max_connections, 100U);
  EXPECT_EQ(config.threads, 3U);
  ASSERT_EQ(config.rules.size(), 1U);
  const sizing::Rule& read = config.rules[0];
  const sizing::Rule written = ToSizingRules({rule})[0];
  EXPECT_EQ(read.name, written.name);
  EXPECT_EQ(read.match.arch, written.match.arch);
  EXPECT_EQ(read.match.page_size_bytes, written.match.page_size_bytes);
  EXPECT_EQ(read.match.node_selector, written.match.node_selector);
  EXPECT_EQ(read.threads.per_cpu_percent, 100U);
  EXPECT_EQ(read.threads.min, 2U);
  EXPECT_EQ(read.threads.max, 8U);
  EXPECT_EQ(read.memory.overhead_percent, 20U);
  EXPECT_EQ(read.memory.overhead_fixed_bytes, 64ULL << 20);
}

TEST(PodContract, TheServerReadsAPercentage) {
  CacheSidecar sidecar;
  sidecar.spec.memory.percent_of_limit = 80;
  server::PodConfig config;
  std::string error;
  ASSERT_TRUE(server::ParsePodConfig(BuildPodConfig(sidecar, {}), config, error)) << error;
  EXPECT_EQ(config.memory_percent_of_limit, 80U);
  EXPECT_FALSE(config.memory_bytes);
  EXPECT_FALSE(config.threads);
  EXPECT_TRUE(config.rules.empty());
}

}  // namespace
}  // namespace podcache::control
