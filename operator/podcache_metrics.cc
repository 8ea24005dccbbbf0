#include "operator/podcache_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <utility>

#include "operator/process_metrics.h"

namespace podcache::control {

namespace {

using Labels = std::map<std::string, std::string>;

// As controller-runtime has them.
const prometheus::Histogram::BucketBoundaries kLatencyBuckets = {
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10};
constexpr const char* kWebhook = "/mutate";

std::string ResultOf(InjectionOutcome outcome) {
  switch (outcome) {
    case InjectionOutcome::kInjected:
      return "injected";
    case InjectionOutcome::kRefused:
      return "refused";
    case InjectionOutcome::kUnchanged:
    case InjectionOutcome::kSkipped:
      break;
  }
  return "skipped";
}

}  // namespace

class PodcacheMetrics::Impl {
 public:
  explicit Impl(std::function<std::vector<ManagedCount>()> managed_source)
      : managed(std::move(managed_source)),
        resizes(prometheus::BuildCounter()
                    .Name("podcache_operator_resizes_total")
                    .Help("Ends of live resizes of pods.")
                    .Register(registry)),
        injections(prometheus::BuildCounter()
                       .Name("podcache_operator_injections_total")
                       .Help("Pods seen by the webhook, by what became of them.")
                       .Register(registry)),
        requests(prometheus::BuildCounter()
                     .Name("controller_runtime_webhook_requests_total")
                     .Help("Admission requests by HTTP status code.")
                     .Register(registry)),
        latency(prometheus::BuildHistogram()
                    .Name("controller_runtime_webhook_latency_seconds")
                    .Help("Time to answer an admission request.")
                    .Register(registry)
                    .Add({{"webhook", kWebhook}}, kLatencyBuckets)),
        in_flight(prometheus::BuildGauge()
                      .Name("controller_runtime_webhook_requests_in_flight")
                      .Help("Admission requests being answered.")
                      .Register(registry)
                      .Add({{"webhook", kWebhook}})) {
    for (const char* direction : {"grow", "shrink"}) {
      for (const char* result : {"done", "deferred", "infeasible", "failed"}) {
        resizes.Add({{"kind", "CacheSidecar"}, {"direction", direction}, {"result", result}});
      }
    }
    for (const char* result : {"injected", "skipped", "refused"})
      injections.Add({{"result", result}});
    for (const char* code : {"200", "500"}) requests.Add({{"webhook", kWebhook}, {"code", code}});
  }

  prometheus::MetricFamily Managed() const {
    prometheus::MetricFamily family;
    family.name = "podcache_operator_managed";
    family.help = "Objects by kind and by whether their condition Ready is True.";
    family.type = prometheus::MetricType::Gauge;
    for (const ManagedCount& count : managed()) {
      for (const bool ready : {true, false}) {
        prometheus::ClientMetric metric;
        metric.label = {{"kind", count.kind}, {"ready", ready ? "true" : "false"}};
        metric.gauge.value = static_cast<double>(ready ? count.ready : count.not_ready);
        family.metric.push_back(std::move(metric));
      }
    }
    return family;
  }

  const std::function<std::vector<ManagedCount>()> managed;
  prometheus::Registry registry;
  prometheus::Family<prometheus::Counter>& resizes;
  prometheus::Family<prometheus::Counter>& injections;
  prometheus::Family<prometheus::Counter>& requests;
  prometheus::Histogram& latency;
  prometheus::Gauge& in_flight;
};

PodcacheMetrics::PodcacheMetrics(std::function<std::vector<ManagedCount>()> managed)
    : impl_(std::make_unique<Impl>(std::move(managed))) {}
PodcacheMetrics::~PodcacheMetrics() = default;

void PodcacheMetrics::OnResize(std::string_view kind, std::string_view direction,
                               std::string_view result) {
  impl_->resizes
      .Add({{"kind", std::string(kind)},
            {"direction", std::string(direction)},
            {"result", std::string(result)}})
      .Increment();
}

void PodcacheMetrics::OnInjection(InjectionOutcome outcome) {
  impl_->injections.Add({{"result", ResultOf(outcome)}}).Increment();
}

void PodcacheMetrics::OnRequestStart() { impl_->in_flight.Increment(); }

void PodcacheMetrics::OnRequestEnd(int http_code, std::chrono::nanoseconds took) {
  impl_->in_flight.Decrement();
  impl_->requests.Add({{"webhook", kWebhook}, {"code", std::to_string(http_code)}}).Increment();
  impl_->latency.Observe(std::chrono::duration<double>(took).count());
}

std::vector<prometheus::MetricFamily> PodcacheMetrics::Collect() const {
  std::vector<prometheus::MetricFamily> families = impl_->registry.Collect();
  families.push_back(impl_->Managed());
  for (prometheus::MetricFamily& family : CollectProcess()) families.push_back(std::move(family));
  return families;
}

}  // namespace podcache::control
