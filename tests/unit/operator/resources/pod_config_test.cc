#include "operator/resources/pod_config.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "operator/resources/sizing_rules.h"

namespace podcache::control {
namespace {

using nlohmann::json;

CacheSidecar Sidecar() {
  CacheSidecar sidecar;
  sidecar.metadata.name = "web-l1";
  sidecar.metadata.namespace_name = "shop";
  sidecar.spec.selector.match_labels["app"] = "web";
  sidecar.spec.memory.size_bytes = 256ULL << 20;
  return sidecar;
}

// The document of docs/designs/0001-pod-contract.md.
TEST(BuildPodConfig, IsTheContractsDocument) {
  SizingRule rule;
  rule.name = "amd64-smt";
  rule.match = {.arch = {"amd64"}, .page_size_bytes = 4096, .node_selector = {{"k", "v"}}};
  rule.threads = {.per_cpu_percent = 50, .min = 1, .max = 16};
  rule.memory = {.overhead_percent = 10, .overhead_fixed_bytes = 67108864};
  const std::string text = BuildPodConfig(Sidecar(), ToSizingRules({rule}));
  json document = json::parse(text);
  EXPECT_EQ(document["configHash"], RestartHash(Sidecar().spec));
  document.erase("configHash");
  EXPECT_EQ(document, json::parse(R"({"version": 1,
      "sidecar": "shop/web-l1",
      "memory": {"sizeBytes": 268435456},
      "maxItemSizeBytes": 1048576,
      "maxConnections": 4096,
      "threads": {"mode": "Auto"},
      "rules": [{"name": "amd64-smt",
                 "match": {"arch": ["amd64"], "pageSizeBytes": 4096, "nodeSelector": {"k": "v"}},
                 "threads": {"perCPUPercent": 50, "min": 1, "max": 16},
                 "memory": {"overheadPercent": 10, "overheadFixedBytes": 67108864}}]})"));
  EXPECT_EQ(text.find(' '), std::string::npos) << "not compact";
}

TEST(BuildPodConfig, LeavesOutWhatIsNotGiven) {
  CacheSidecar sidecar = Sidecar();
  sidecar.spec.memory.size_bytes.reset();
  sidecar.spec.memory.percent_of_limit = 80;
  sidecar.spec.threads = {.mode = ThreadsMode::kFixed, .count = 2};
  SizingRule any;
  any.name = "any";
  const json document = json::parse(BuildPodConfig(sidecar, ToSizingRules({any})));
  EXPECT_EQ(document["memory"], json::parse(R"({"percentOfLimit": 80})"));
  EXPECT_EQ(document["threads"], json::parse(R"({"mode": "Fixed", "count": 2})"));
  EXPECT_EQ(document["rules"][0]["match"], json::object());
  EXPECT_FALSE(json::parse(BuildPodConfig(sidecar, {})).contains("rules"));
}

TEST(BuildPodConfig, IsByteStable) {
  EXPECT_EQ(BuildPodConfig(Sidecar(), {}), BuildPodConfig(Sidecar(), {}));
}

TEST(RestartHash, ChangesOnlyWithWhatARunningPodCannotFollow) {
  const CacheSidecarSpec base = Sidecar().spec;
  const std::string hash = RestartHash(base);
  EXPECT_EQ(hash.size(), 32U);

  CacheSidecarSpec live = base;
  live.memory.size_bytes = 1ULL << 30;
  live.threads = {.mode = ThreadsMode::kFixed, .count = 2};
  live.resources.cpu.limit_milli = 2000;
  live.profile_ref = ProfileReference{.name = "other"};
  live.selector.match_labels["app"] = "shop";
  live.update_running_pods = false;
  EXPECT_EQ(RestartHash(live), hash);

  const auto changed = [&](auto change) {
    CacheSidecarSpec spec = base;
    change(spec);
    return RestartHash(spec) != hash;
  };
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.image = "registry.example/podcached:2"; }));
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.listen.port = 11300; }));
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.listen.unix_socket.enabled = true; }));
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.memory.max_item_size_bytes *= 2; }));
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.max_connections = 1; }));
  EXPECT_TRUE(changed([](CacheSidecarSpec& spec) { spec.extra_args = {"-v"}; }));
}

}  // namespace
}  // namespace podcache::control
