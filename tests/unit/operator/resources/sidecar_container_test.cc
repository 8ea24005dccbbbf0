#include "operator/resources/sidecar_container.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace podcache::control {
namespace {

using nlohmann::json;

SidecarContainerInput Input(const CacheSidecarSpec& spec) {
  return {.spec = spec,
          .default_image = "registry.example/podcached:1",
          .amounts = {.memory_request_bytes = 346ULL << 20,
                      .memory_limit_bytes = 346ULL << 20,
                      .cpu_request_milli = 50,
                      .cpu_limit_milli = 0},
          .pod_config = "{}",
          .admin_ca_pem = "CA",
          .admin_identity_hex = "00ff"};
}

// Shape: docs/designs/0001-pod-contract.md; sections 5 and 6 of the Kubernetes requirements.
TEST(BuildSidecarContainer, IsARestrictedNativeSidecar) {
  const CacheSidecarSpec spec;
  EXPECT_EQ(BuildSidecarContainer(Input(spec)), json::parse(R"({
    "name": "podcache",
    "image": "registry.example/podcached:1",
    "restartPolicy": "Always",
    "command": ["/podcached"],
    "args": ["--loopback", "-p", "11211", "-U", "0", "--http-listen=*:9150", "--admin-listen=*:9151",
             "--admin-listen=unix:/run/podcache/admin.sock"],
    "env": [{"name": "PODCACHE_POD_CONFIG", "value": "{}"},
            {"name": "PODCACHE_ADMIN_CA", "value": "CA"},
            {"name": "PODCACHE_ADMIN_IDENTITY", "value": "00ff"},
            {"name": "PODCACHE_POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "PODCACHE_POD_NAMESPACE", "valueFrom": {"fieldRef": {"fieldPath": "metadata.namespace"}}}],
    "ports": [{"name": "http-metrics", "containerPort": 9150, "protocol": "TCP"},
              {"name": "grpc-admin", "containerPort": 9151, "protocol": "TCP"}],
    "resources": {"requests": {"cpu": "50m", "memory": "346Mi"}, "limits": {"memory": "346Mi"}},
    "resizePolicy": [{"resourceName": "cpu", "restartPolicy": "NotRequired"},
                     {"resourceName": "memory", "restartPolicy": "NotRequired"}],
    "securityContext": {"allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
                        "readOnlyRootFilesystem": true, "runAsNonRoot": true, "runAsUser": 65532,
                        "runAsGroup": 65532, "seccompProfile": {"type": "RuntimeDefault"}},
    "startupProbe": {"httpGet": {"path": "/healthz", "port": "http-metrics"}, "periodSeconds": 1,
                     "timeoutSeconds": 1, "failureThreshold": 60},
    "terminationMessagePolicy": "FallbackToLogsOnError",
    "volumeMounts": [{"name": "podcache-run", "mountPath": "/run/podcache"}]})"));
  EXPECT_EQ(BuildSidecarVolumes(spec), json::parse(R"([
    {"name": "podcache-run", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}}])"));
}

TEST(BuildSidecarContainer, AddsTheUnixSocketBesideLoopback) {
  CacheSidecarSpec spec;
  spec.listen.port = 11300;
  spec.listen.unix_socket = {.enabled = true, .mount_path = "/cache", .containers = {}};
  spec.extra_args = {"-v"};
  spec.image = "registry.example/other:2";
  const json container = BuildSidecarContainer(Input(spec));
  EXPECT_EQ(container["image"], "registry.example/other:2");
  EXPECT_EQ(
      container["args"],
      json::parse(
          R"(["--loopback", "-p", "11300", "-U", "0", "--extra-unix-socket=/cache/podcache.sock",
                            "-a", "0666", "--http-listen=*:9150", "--admin-listen=*:9151",
                            "--admin-listen=unix:/run/podcache/admin.sock", "-v"])"));
  EXPECT_EQ(container["volumeMounts"][1],
            json::parse(R"({"name": "podcache-socket", "mountPath": "/cache"})"));
  EXPECT_EQ(BuildSidecarVolumes(spec)[1]["name"], "podcache-socket");
  EXPECT_EQ(BuildAppSocketMount(spec.listen.unix_socket),
            json::parse(R"({"name": "podcache-socket", "mountPath": "/cache", "readOnly": true})"));
}

TEST(BuildSidecarContainer, TheSocketAloneReplacesTcp) {
  CacheSidecarSpec spec;
  spec.listen.loopback = false;
  spec.listen.unix_socket.enabled = true;
  const json arguments = BuildSidecarContainer(Input(spec))["args"];
  EXPECT_EQ(arguments[0], "-s");
  EXPECT_EQ(arguments[1], "/var/run/podcache/podcache.sock");
  EXPECT_EQ(arguments.dump().find("loopback"), std::string::npos);
  EXPECT_EQ(arguments.dump().find("\"-p\""), std::string::npos);
}

TEST(BuildSidecarContainer, IsPlainWithoutNativeSidecars) {
  const CacheSidecarSpec spec;
  SidecarContainerInput input = Input(spec);
  input.native = false;
  EXPECT_FALSE(BuildSidecarContainer(input).contains("restartPolicy"));
}

TEST(ContainerAmounts, GoThroughJsonUnchanged) {
  const ContainerAmounts amounts{.memory_request_bytes = 64ULL << 20,
                                 .memory_limit_bytes = 128ULL << 20,
                                 .cpu_request_milli = 50,
                                 .cpu_limit_milli = 1000};
  EXPECT_EQ(
      ToResourcesJson(amounts),
      json::parse(
          R"({"requests": {"cpu": "50m", "memory": "64Mi"}, "limits": {"cpu": "1", "memory": "128Mi"}})"));
  EXPECT_EQ(AmountsFromResourcesJson(ToResourcesJson(amounts)), amounts);
  EXPECT_EQ(ToResourcesJson({}), json::object());
}

TEST(ContainerAmounts, AreReadFromWhateverKubernetesAllows) {
  EXPECT_EQ(
      AmountsFromResourcesJson(json::parse(
          R"({"requests": {"cpu": 2, "memory": "1e9"}, "limits": {"memory": "1500M", "cpu": "0.1"}})")),
      (ContainerAmounts{.memory_request_bytes = 1000000000,
                        .memory_limit_bytes = 1500000000,
                        .cpu_request_milli = 2000,
                        .cpu_limit_milli = 100}));
  EXPECT_EQ(AmountsFromResourcesJson(json::parse("null")), ContainerAmounts());
  EXPECT_EQ(AmountsFromResourcesJson(json::parse(R"({"requests": [], "limits": {"memory": "x"}})")),
            ContainerAmounts());
}

}  // namespace
}  // namespace podcache::control
