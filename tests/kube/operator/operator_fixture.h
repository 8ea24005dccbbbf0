// What the tests of the running operator share: a cluster prepared once, a namespace, an operator
// and a node for each test.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "operator/reconcile/our_objects.h"
#include "tests/kube/operator/test_cluster.h"
#include "tests/kube/operator/test_node.h"

namespace podcache::control {

class OperatorTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kMi = 1ULL << 20;

  static TestCluster& cluster() {
    static auto* const cluster = new TestCluster;
    return *cluster;
  }

  void SetUp() override {
    ns_ = cluster().NewNamespace();
    cluster().RemoveLease();
    cluster().InstallWebhook(ports_.webhook);
    StartOperator();
    node_ = std::make_unique<TestNode>(cluster().api(), ns_, ports_.cache_admin);
  }
  // What is left over would be looked after by the next test's operator.
  void TearDown() override {
    operator_.reset();
    node_.reset();
    for (const kube::ResourceType& type : {kCacheSidecars, kube::kPods}) {
      const auto list = kube::ListAll(cluster().api(), type, ns_);
      if (!list.ok()) continue;
      for (const kube::Object& object : *list) {
        (void)cluster().api().Delete(
            {type, ns_, std::string(object.name()), ""},
            {.uid = {}, .grace_period_seconds = 0, .propagation_policy = ""});
      }
    }
  }

  void StartOperator(const std::vector<std::string>& arguments = {}) {
    operator_ = std::make_unique<OperatorProcess>(cluster(), ports_, arguments);
    ASSERT_TRUE(operator_->WaitUntilReady());
    ASSERT_TRUE(WaitFor("CA is published", [] {
      const auto found =
          cluster().Get(kube::kMutatingWebhookConfigurations, "", "podcache-injector");
      return found["webhooks"][0]["clientConfig"].contains("caBundle") &&
             found["webhooks"][1]["clientConfig"].contains("caBundle");
    }));
  }

  void ApplySidecar(nlohmann::json spec, const std::string& name = "web-l1") {
    if (!spec.contains("selector")) spec["selector"] = {{"matchLabels", {{"app", "web"}}}};
    cluster().Apply(kCacheSidecars,
                    {{"metadata", {{"name", name}, {"namespace", ns_}}}, {"spec", spec}});
    ASSERT_TRUE(WaitFor("operator has seen the spec", [&] {
      const auto object = cluster().Get(kCacheSidecars, ns_, name);
      const auto paused = object["metadata"].value("annotations", nlohmann::json::object());
      return paused.contains("podcache.dev/paused") ||
             object.value("status", nlohmann::json::object()).value("observedGeneration", 0) ==
                 object["metadata"]["generation"];
    }));
  }

  static nlohmann::json Pod(const std::string& name, const std::string& inject = "true") {
    return nlohmann::json::parse(R"({"spec": {"containers": [{"name": "app", "image": "app:1",
      "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}}}]}})")
        .patch(nlohmann::json::array(
            {{{"op", "add"},
              {"path", "/metadata"},
              {"value",
               {{"name", name}, {"labels", {{"app", "web"}, {"podcache.dev/inject", inject}}}}}}}));
  }
  // Code, answer; warnings are in the operator's answer only.
  std::pair<int, nlohmann::json> CreatePod(const nlohmann::json& pod) {
    nlohmann::json object = pod;
    object["apiVersion"] = "v1";
    object["kind"] = "Pod";
    const auto [code, body] = cluster().Send("POST", "/api/v1/namespaces/" + ns_ + "/pods",
                                             object.dump(), "application/json");
    return {code, nlohmann::json::parse(body, nullptr, false)};
  }
  void StartPod(const std::string& name) {
    ASSERT_EQ(CreatePod(Pod(name)).first, 201);
    ASSERT_TRUE(
        WaitFor("cache of " + name + " runs", [&] { return node_->cache(name) != nullptr; }));
    ASSERT_TRUE(WaitForSized(name));
  }

  nlohmann::json Status(const std::string& name = "web-l1") {
    return cluster().Get(kCacheSidecars, ns_, name).value("status", nlohmann::json::object());
  }
  nlohmann::json ConditionOf(const std::string& type, const std::string& name = "web-l1") {
    for (const auto& condition : Status(name).value("conditions", nlohmann::json::array())) {
      if (condition["type"] == type) return condition;
    }
    return nlohmann::json::object();
  }
  bool WaitForCondition(const std::string& type, const std::string& status,
                        const std::string& reason) {
    return WaitFor(type + "=" + status + "/" + reason, [&] {
      const auto condition = ConditionOf(type);
      return condition.value("status", "") == status && condition.value("reason", "") == reason;
    });
  }
  // The pod is at the size that its CacheSidecar asks for, and the status says so.
  bool WaitForSized(const std::string& pod) {
    return WaitFor(pod + " is sized", [&] {
      const auto status = Status();
      const auto object = cluster().Get(kCacheSidecars, ns_, "web-l1");
      if (status.value("observedGeneration", 0) != object["metadata"]["generation"]) return false;
      if (status.value("pendingPods", -1) != 0 || status.value("resizedPods", 0) == 0) return false;
      return ConditionOf("Ready").value("status", "") == "True";
    });
  }

  std::vector<std::string> EventReasons() {
    std::vector<std::string> reasons;
    const auto events = kube::ListAll(cluster().api(), kube::kEvents, ns_);
    if (!events.ok()) return reasons;
    for (const kube::Object& event : *events) reasons.emplace_back(event.TextAt({"reason"}));
    return reasons;
  }
  // Requests of the operator to a resource in this namespace.
  std::vector<TestCluster::Audited> OperatorWrites(const std::string& resource) {
    std::vector<TestCluster::Audited> found;
    for (auto& entry : cluster().AuditOf(ns_)) {
      if (entry.resource == resource && entry.agent.starts_with("podcache-operator")) {
        found.push_back(std::move(entry));
      }
    }
    return found;
  }
  // Reconciles of CacheSidecars that ended well, by the operator's metrics.
  double Reconciles() {
    const std::string text = OperatorProcess::Fetch(ports_.metrics, "/metrics");
    const std::string series =
        "controller_runtime_reconcile_total{controller=\"cachesidecar\",result=\"requeue_after\"} ";
    const std::size_t at = text.find(series);
    return at == std::string::npos ? 0 : std::stod(text.substr(at + series.size()));
  }
  void ExpectNoViolations(const std::string& pod) {
    EXPECT_THAT(node_->cache(pod)->violations(), ::testing::IsEmpty());
  }
  static std::string Bytes(const std::string& what, std::uint64_t mi) {
    return what + " " + std::to_string(mi * kMi);
  }

  Ports ports_;
  std::string ns_;
  std::unique_ptr<OperatorProcess> operator_;
  std::unique_ptr<TestNode> node_;
};

}  // namespace podcache::control
