// At most one leader among the replicas, by a Lease.
//
// A leader that cannot renew for `renew_deadline` stops being one before others may take over after
// `lease_duration`; clocks need not agree, only run at about the same speed: the holder's expiry is
// counted from when this process saw the lease change. Losing the lease is final: the process is to
// exit and start clean. Threads: Step on one thread; is_leader from any. Ownership: borrows client,
// clock. Source: coordination.k8s.io/v1 Lease, as client-go uses it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <random>
#include <stop_token>
#include <string>
#include <string_view>

#include "common/base/clock.h"
#include "common/logging/logger.h"
#include "operator/client/api_client.h"

namespace podcache::kube {

struct LeaderElectorOptions {
  NamespacedName lease{};
  std::string identity{};  // Unique per process: host name and a random part.
  std::chrono::seconds lease_duration{15};
  std::chrono::seconds renew_deadline{10};
  std::chrono::seconds retry_period{2};
};

enum class Leadership { kStandby, kLeading, kLost };

class LeaderElector {
 public:
  LeaderElector(ApiClient& client, LeaderElectorOptions options, const Clock& clock,
                std::uint64_t seed, Logger log);

  // One attempt to acquire or renew. kLost is final. Between attempts wait NextDelay().
  Leadership Step();
  std::chrono::nanoseconds NextDelay();

  // Blocks until leading (true) or stopped (false).
  bool Acquire(const std::stop_token& stop);
  // Renews until the stop (true) or the loss (false).
  bool Hold(const std::stop_token& stop);
  // Gives the lease up, so that a successor need not wait. Only when leading.
  void Release();

  bool is_leader() const { return leading_.load(); }

 private:
  ObjectRef Ref() const;
  absl::Status TryAcquireOrRenew();
  absl::Status Create();
  absl::Status Take(const Object& lease, bool renew);
  void Observe(const Object& lease);
  bool HolderExpired(const Object& lease) const;
  Leadership Lose(std::string_view reason);
  static bool IsOurs(const absl::Status& status);

  ApiClient& client_;
  const LeaderElectorOptions options_;
  const Clock& clock_;
  Logger log_;
  std::mt19937_64 random_;
  std::atomic<bool> leading_{false};
  bool lost_ = false;
  std::chrono::nanoseconds last_renewed_{0};
  std::string observed_;  // The record last seen, and when it changed.
  std::chrono::nanoseconds observed_at_{0};
};

}  // namespace podcache::kube
