// The metrics of clients, queues, controllers and leadership under the names of controller-runtime
// and client-go, so that existing dashboards and alerts fit. Every series of a controller exists,
// at zero, from its construction on.
//
// Threads: any. Queues registered by WatchQueue are read at each scrape, until they are taken back.
// Source: metrics.md section 5; controller-runtime's metrics reference.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "operator/client/request_observer.h"
#include "operator/controller/controller_observer.h"

namespace podcache::kube {

class OperatorMetrics final : public ControllerMetrics,
                              public RequestObserver,
                              public prometheus::Collectable {
 public:
  OperatorMetrics();
  ~OperatorMetrics() override;

  ControllerObserver& ForController(const std::string& name, int workers) override;
  WorkQueueObserver& ForQueue(const std::string& name) override;
  void WatchQueue(const std::string& name, const WorkQueue* queue) override;

  void OnRequest(std::string_view verb, std::string_view method, std::string_view host, int code,
                 std::chrono::nanoseconds duration) override;

  // leader_election_master_status; a call before the election makes it 0 from the start.
  void SetLeader(const std::string& lease, bool leader);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::kube
