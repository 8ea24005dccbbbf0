// Plays kubelet for the pods of one namespace: starts their caches (SimulatedCache behind the real
// admin port, on a loopback address of its own), reports them in pods/status, and answers resizes
// as it is told.
//
// Threads: a thread of its own from construction to destruction; the functions from any.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <thread>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/client/api_client.h"
#include "server/admin/grpc_endpoint.h"
#include "tests/kube/operator/simulated_cache.h"

namespace podcache::control {

enum class ResizeAnswer { kGrant, kDefer, kInfeasible, kIgnore };

class TestNode {
 public:
  TestNode(kube::ApiClient& client, std::string ns, std::uint16_t admin_port);
  ~TestNode();

  void AnswerResizesWith(ResizeAnswer answer) { answer_.store(answer); }
  // The container ends and starts again with its size of birth.
  void RestartCache(const std::string& pod);
  // Null before the pod's cache has started.
  std::shared_ptr<SimulatedCache> cache(const std::string& pod) const;

 private:
  struct Running {
    // Shared with tests that look at a cache after its pod is gone.
    std::shared_ptr<SimulatedCache> cache;
    std::unique_ptr<admin::GrpcEndpoint> endpoint;
    std::string address;
    std::string uid;
    nlohmann::json allocated;
    int starts = 1;
    std::string reported;  // Last status written.
  };
  void Run(const std::stop_token& stop);
  void Visit(const kube::Object& pod);
  void Start(const kube::Object& pod, const nlohmann::json& container, Running& running);
  nlohmann::json AnswerResize(const nlohmann::json& container, Running& running);
  void Report(const kube::Object& pod, const nlohmann::json& conditions, Running& running);

  kube::ApiClient& client_;
  const std::string ns_;
  const std::uint16_t admin_port_;
  std::atomic<ResizeAnswer> answer_{ResizeAnswer::kGrant};
  mutable Mutex mutex_;
  std::map<std::string, Running> running_ GUARDED_BY(mutex_);
  int next_address_ GUARDED_BY(mutex_) = 1;
  std::jthread thread_;
};

}  // namespace podcache::control
