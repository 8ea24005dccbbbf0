#include "tests/kube/operator/test_node.h"

#include <gtest/gtest.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "common/base/clock.h"
#include "operator/api/v1alpha1/quantity.h"
#include "operator/client/time_text.h"
#include "operator/reconcile/born_rules.h"
#include "operator/resources/container_amounts.h"

namespace podcache::control {

namespace {

using nlohmann::json;

const json* OurContainer(const kube::Object& pod) {
  const json& list = pod.At({"spec", "initContainers"});
  if (!list.is_array()) return nullptr;
  for (const json& container : list) {
    if (container.value("name", "") == "podcache") return &container;
  }
  return nullptr;
}

std::string Environment(const json& container, const std::string& name) {
  for (const json& variable : container.at("env")) {
    if (variable.at("name") == name) return variable.value("value", "");
  }
  return {};
}

std::uint64_t MemoryLimit(const json& resources) {
  return AmountsFromResourcesJson(resources).memory_limit_bytes;
}

sizing::MemoryRule RuleOf(const json& container) {
  sizing::Host host;
  host.arch = "amd64";
  host.page_size_bytes = 4096;
  const auto rules = BornRules(container);
  const sizing::Rule* rule = sizing::ChooseRule(rules, host);
  return rule == nullptr ? sizing::BuiltInDefaultRule().memory : rule->memory;
}

json Condition(const std::string& type, const std::string& reason, const std::string& message) {
  return {{"type", type},
          {"status", "True"},
          {"reason", reason},
          {"message", message},
          {"lastTransitionTime", kube::FormatTime(SystemClock().WallSeconds())}};
}

}  // namespace

TestNode::TestNode(kube::ApiClient& client, std::string ns, std::uint16_t admin_port)
    : client_(client),
      ns_(std::move(ns)),
      admin_port_(admin_port),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

TestNode::~TestNode() {
  thread_.request_stop();
  thread_.join();
}

std::shared_ptr<SimulatedCache> TestNode::cache(const std::string& pod) const {
  MutexLock lock(mutex_);
  const auto found = running_.find(pod);
  return found == running_.end() ? nullptr : found->second.cache;
}

void TestNode::RestartCache(const std::string& pod) {
  MutexLock lock(mutex_);
  Running& running = running_.at(pod);
  running.endpoint.reset();
  running.cache.reset();
  ++running.starts;
}

void TestNode::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const auto pods = client_.List(kube::kPods, ns_, {});
    if (pods.ok()) {
      for (const kube::Object& pod : pods->items) Visit(pod);
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
}

void TestNode::Visit(const kube::Object& pod) {
  const json* container = OurContainer(pod);
  if (container == nullptr || pod.being_deleted()) return;
  MutexLock lock(mutex_);
  Running& running = running_[std::string(pod.name())];
  if (!running.uid.empty() && running.uid != pod.uid())
    running = Running();  // Another pod of this name.
  if (running.cache == nullptr) Start(pod, *container, running);
  running.cache->Tick();
  const json conditions = AnswerResize(*container, running);
  Report(pod, conditions, running);
}

void TestNode::Start(const kube::Object& pod, const json& container, Running& running) {
  if (running.address.empty()) {
    running.address = "127.0.88." + std::to_string(next_address_++);
    running.uid = pod.uid();
    running.allocated = container.at("resources");
  }
  const json config = json::parse(Environment(container, "PODCACHE_POD_CONFIG"));
  const sizing::MemoryRule rule = RuleOf(container);
  SimulatedCache::State state;
  state.cgroup_bytes = MemoryLimit(running.allocated);
  state.limit_bytes = state.target_bytes =
      std::min(config.at("memory").at("sizeBytes").get<std::uint64_t>(),
               sizing::LargestCacheBytes(rule, state.cgroup_bytes));
  state.resident_bytes = state.limit_bytes;
  state.threads_target = state.threads_running = config.at("threads").value("count", 1U);
  if (config.at("threads").at("mode") == "Auto") state.threads_target = state.threads_running = 2;
  running.cache = std::make_shared<SimulatedCache>(state, rule);
  admin::AdminTrust trust;
  std::string error;
  ASSERT_TRUE(admin::ReadAdminTrust(Environment(container, "PODCACHE_ADMIN_CA"),
                                    Environment(container, "PODCACHE_ADMIN_IDENTITY"), &trust,
                                    &error))
      << error;
  running.endpoint =
      admin::GrpcEndpoint::Start({running.address + ":" + std::to_string(admin_port_)}, trust,
                                 *running.cache, SystemClock().WallSeconds(), &error);
  ASSERT_TRUE(running.endpoint) << error;
}

// The conditions that go with what became of the resize.
json TestNode::AnswerResize(const json& container, Running& running) {
  const json& wanted = container.at("resources");
  if (wanted == running.allocated) return json::array();
  switch (answer_.load()) {
    case ResizeAnswer::kIgnore:
      return json::array();
    case ResizeAnswer::kDefer:
      return json::array(
          {Condition("PodResizePending", "Deferred", "Node didn't have enough memory")});
    case ResizeAnswer::kInfeasible:
      return json::array(
          {Condition("PodResizePending", "Infeasible", "Node didn't have enough capacity")});
    case ResizeAnswer::kGrant:
      break;
  }
  const std::uint64_t limit = MemoryLimit(wanted);
  if (limit < running.cache->state().resident_bytes) {
    return json::array({Condition("PodResizeInProgress", "Error", "usage is above the new limit")});
  }
  running.allocated = wanted;
  running.cache->SetCgroup(limit);
  return json::array();
}

void TestNode::Report(const kube::Object& pod, const json& conditions, Running& running) {
  json all = conditions;
  for (json& condition : all) condition["observedGeneration"] = pod.generation();
  const json container = {
      {"name", "podcache"},
      {"state", {{"running", {{"startedAt", "2026-11-30T10:00:00Z"}}}}},
      {"ready", true},
      {"started", true},
      {"restartCount", running.starts - 1},
      {"image", "podcached:test"},
      {"imageID", "sha256:0"},
      {"containerID", "test://" + running.uid + "/" + std::to_string(running.starts)},
      {"allocatedResources", running.allocated.value("requests", json::object())},
      {"resources", running.allocated}};
  const json status = {{"phase", "Running"},
                       {"podIP", running.address},
                       {"podIPs", json::array({{{"ip", running.address}}})},
                       {"conditions", all},
                       {"initContainerStatuses", json::array({container})}};
  json key = status;
  for (json& condition : key["conditions"]) condition.erase("lastTransitionTime");
  if (key.dump() == running.reported) return;
  const json patch = {{"metadata", {{"uid", running.uid}}}, {"status", status}};
  const auto patched = client_.Patch({kube::kPods, ns_, std::string(pod.name()), "status"},
                                     kube::PatchType::kMerge, patch, {.field_manager = "kubelet"});
  if (patched.ok()) running.reported = key.dump();
}

}  // namespace podcache::control
