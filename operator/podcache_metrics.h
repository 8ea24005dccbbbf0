// The operator's own metrics and those of its webhook, under the names of metrics.md section 5; all
// at zero from the start.
//
// Threads: any. `managed` is asked at each scrape.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "operator/reconcile/resize_counter.h"
#include "operator/webhook/admission_server.h"
#include "operator/webhook/injection_handler.h"

namespace podcache::control {

// How many objects of a kind there are.
struct ManagedCount {
  std::string kind;
  std::int64_t ready = 0;
  std::int64_t not_ready = 0;
};

class PodcacheMetrics final : public ResizeCounter,
                              public InjectionCounter,
                              public AdmissionObserver,
                              public prometheus::Collectable {
 public:
  explicit PodcacheMetrics(std::function<std::vector<ManagedCount>()> managed);
  ~PodcacheMetrics() override;

  void OnResize(std::string_view kind, std::string_view direction,
                std::string_view result) override;
  void OnInjection(InjectionOutcome outcome) override;
  void OnRequestStart() override;
  void OnRequestEnd(int http_code, std::chrono::nanoseconds took) override;

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::control
