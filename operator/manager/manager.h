// Starts and stops the parts of an operator in order.
//
//   start: informers → their first state (2 minutes) → ready → leadership → controllers
//   stop:  controllers (in progress may finish) → lease → informers, in 30 s all together
//
// What must run on every replica (webhook, health) is started by the owner before Run. Losing the
// lease ends Run with an error: the process exits non-zero and starts clean. Threads: Run on one
// thread, which it blocks; ready and is_leader from any. Ownership: borrows informers, controllers,
// elector.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <stop_token>
#include <vector>

#include "common/logging/logger.h"
#include "common/status/status.h"
#include "operator/cache/informer.h"
#include "operator/controller/controller.h"
#include "operator/manager/leader_elector.h"

namespace podcache::kube {

struct ManagerOptions {
  std::chrono::seconds sync_timeout{120};
  std::chrono::seconds stop_timeout{30};
  // Told on every change, for leader_election_master_status.
  std::function<void(bool leader)> on_leadership{};
};

class Manager {
 public:
  // `elector` may be null: always leader.
  Manager(ManagerOptions options, LeaderElector* elector, Logger log);

  void Add(Informer& informer) { informers_.push_back(&informer); }
  void Add(Controller& controller) { controllers_.push_back(&controller); }
  // Runs on the manager's thread once leading, before the controllers start.
  void OnLeading(std::function<void()> callback) { on_leading_.push_back(std::move(callback)); }

  // Until the stop: OK. DeadlineExceeded when the caches do not fill or workers do not end in time;
  // Aborted when the lease is lost.
  absl::Status Run(const std::stop_token& stop);

  // The caches are filled; true on standbys too.
  bool ready() const { return ready_.load(); }
  bool is_leader() const { return leading_.load(); }

 private:
  absl::Status WaitForSync(const std::stop_token& stop);
  absl::Status Lead(const std::stop_token& stop);
  bool StopControllers();
  void SetLeading(bool leading);

  const ManagerOptions options_;
  LeaderElector* const elector_;
  Logger log_;
  std::vector<Informer*> informers_;
  std::vector<Controller*> controllers_;
  std::vector<std::function<void()>> on_leading_;
  std::atomic<bool> ready_{false};
  std::atomic<bool> leading_{false};
};

}  // namespace podcache::kube
