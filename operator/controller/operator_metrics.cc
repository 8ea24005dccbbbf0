#include "operator/controller/operator_metrics.h"

#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>

#include <chrono>
#include <map>
#include <utility>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"

namespace podcache::kube {
namespace {

using Buckets = prometheus::Histogram::BucketBoundaries;
template <typename T>
using Family = prometheus::Family<T>;

// As controller-runtime has them.
const Buckets& ReconcileBuckets() {
  static const Buckets buckets = {0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3,  0.35,
                                  0.4,   0.45, 0.5,   0.6,  0.7, 0.8,  0.9, 1.0,  1.25, 1.5,
                                  1.75,  2.0,  2.5,   3.0,  3.5, 4.0,  4.5, 5,    6,    7,
                                  8,     9,    10,    15,   20,  25,   30,  40,   50,   60};
  return buckets;
}
// 10 ns to 1000 s by powers of ten.
const Buckets& QueueBuckets() {
  static const Buckets buckets = {1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1, 10, 100, 1000};
  return buckets;
}
const Buckets& RequestBuckets() {
  static const Buckets buckets = {0.005, 0.025, 0.1, 0.25, 0.5, 1, 2, 4, 8, 15, 30, 60};
  return buckets;
}

double Seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

Family<prometheus::Counter>& CounterFamily(prometheus::Registry& registry, const char* name,
                                           const char* help) {
  return prometheus::BuildCounter().Name(name).Help(help).Register(registry);
}
Family<prometheus::Gauge>& GaugeFamily(prometheus::Registry& registry, const char* name,
                                       const char* help) {
  return prometheus::BuildGauge().Name(name).Help(help).Register(registry);
}
Family<prometheus::Histogram>& HistogramFamily(prometheus::Registry& registry, const char* name,
                                               const char* help) {
  return prometheus::BuildHistogram().Name(name).Help(help).Register(registry);
}

struct ControllerFamilies {
  explicit ControllerFamilies(prometheus::Registry& r)
      : reconciles(CounterFamily(r, "controller_runtime_reconcile_total",
                                 "Reconciles by controller and result")),
        errors(CounterFamily(r, "controller_runtime_reconcile_errors_total",
                             "Reconciles that failed, terminal errors included")),
        terminal_errors(CounterFamily(r, "controller_runtime_terminal_reconcile_errors_total",
                                      "Reconciles that failed and are not tried again")),
        panics(CounterFamily(r, "controller_runtime_reconcile_panics_total",
                             "Reconciles that ended by an exception")),
        timeouts(CounterFamily(r, "controller_runtime_reconcile_timeouts_total",
                               "Reconciles that exceeded a deadline")),
        seconds(HistogramFamily(r, "controller_runtime_reconcile_time_seconds",
                                "Duration of a reconcile")),
        max_concurrent(GaugeFamily(r, "controller_runtime_max_concurrent_reconciles",
                                   "Workers of the controller")),
        active(
            GaugeFamily(r, "controller_runtime_active_workers", "Workers that are reconciling")) {}

  Family<prometheus::Counter>& reconciles;
  Family<prometheus::Counter>& errors;
  Family<prometheus::Counter>& terminal_errors;
  Family<prometheus::Counter>& panics;
  Family<prometheus::Counter>& timeouts;
  Family<prometheus::Histogram>& seconds;
  Family<prometheus::Gauge>& max_concurrent;
  Family<prometheus::Gauge>& active;
};

class ControllerSeries final : public ControllerObserver {
 public:
  ControllerSeries(ControllerFamilies& f, const std::string& name, int workers)
      : success_(f.reconciles.Add({{"controller", name}, {"result", "success"}})),
        error_(f.reconciles.Add({{"controller", name}, {"result", "error"}})),
        requeue_after_(f.reconciles.Add({{"controller", name}, {"result", "requeue_after"}})),
        errors_(f.errors.Add({{"controller", name}})),
        terminal_errors_(f.terminal_errors.Add({{"controller", name}})),
        panics_(f.panics.Add({{"controller", name}})),
        timeouts_(f.timeouts.Add({{"controller", name}})),
        seconds_(f.seconds.Add({{"controller", name}}, ReconcileBuckets())),
        active_(f.active.Add({{"controller", name}})) {
    // Our reconciles ask for a time, never for "again at once"; the series is there for the
    // dashboards.
    f.reconciles.Add({{"controller", name}, {"result", "requeue"}});
    f.max_concurrent.Add({{"controller", name}}).Set(workers);
  }

  void OnReconcileStart() override { active_.Increment(); }
  void OnReconcileEnd(ReconcileOutcome outcome, std::chrono::nanoseconds took) override {
    active_.Decrement();
    seconds_.Observe(Seconds(took));
    switch (outcome) {
      case ReconcileOutcome::kSuccess:
        success_.Increment();
        break;
      case ReconcileOutcome::kRequeueAfter:
        requeue_after_.Increment();
        break;
      case ReconcileOutcome::kTerminalError:
        terminal_errors_.Increment();
        [[fallthrough]];
      case ReconcileOutcome::kError:
        errors_.Increment();
        error_.Increment();
        break;
    }
  }
  void OnTimeout() override { timeouts_.Increment(); }
  void OnException() override { panics_.Increment(); }

 private:
  prometheus::Counter& success_;
  prometheus::Counter& error_;
  prometheus::Counter& requeue_after_;
  prometheus::Counter& errors_;
  prometheus::Counter& terminal_errors_;
  prometheus::Counter& panics_;
  prometheus::Counter& timeouts_;
  prometheus::Histogram& seconds_;
  prometheus::Gauge& active_;
};

struct QueueFamilies {
  explicit QueueFamilies(prometheus::Registry& r)
      : adds(CounterFamily(r, "workqueue_adds_total", "Keys added to the queue")),
        retries(CounterFamily(r, "workqueue_retries_total", "Keys added again after a failure")),
        waited(HistogramFamily(r, "workqueue_queue_duration_seconds",
                               "How long a key waits before work on it begins")),
        worked(
            HistogramFamily(r, "workqueue_work_duration_seconds", "How long work on a key takes")),
        depth(GaugeFamily(r, "workqueue_depth", "Keys waiting")),
        unfinished(GaugeFamily(r, "workqueue_unfinished_work_seconds",
                               "Time spent so far on keys in work, summed")),
        longest(GaugeFamily(r, "workqueue_longest_running_processor_seconds",
                            "Time spent so far on the key longest in work")) {}

  Family<prometheus::Counter>& adds;
  Family<prometheus::Counter>& retries;
  Family<prometheus::Histogram>& waited;
  Family<prometheus::Histogram>& worked;
  Family<prometheus::Gauge>& depth;
  Family<prometheus::Gauge>& unfinished;
  Family<prometheus::Gauge>& longest;
};

class QueueSeries final : public WorkQueueObserver {
 public:
  QueueSeries(QueueFamilies& f, const prometheus::Labels& labels)
      : adds_(f.adds.Add(labels)),
        retries_(f.retries.Add(labels)),
        waited_(f.waited.Add(labels, QueueBuckets())),
        worked_(f.worked.Add(labels, QueueBuckets())),
        depth_(f.depth.Add(labels)),
        unfinished_(f.unfinished.Add(labels)),
        longest_(f.longest.Add(labels)) {}

  void OnAdd() override { adds_.Increment(); }
  void OnGet(std::chrono::nanoseconds waited) override { waited_.Observe(Seconds(waited)); }
  void OnDone(std::chrono::nanoseconds worked) override { worked_.Observe(Seconds(worked)); }
  void OnRetry() override { retries_.Increment(); }

  void Watch(const WorkQueue* queue) { queue_ = queue; }
  // Takes over what only the queue knows.
  void Refresh() {
    const WorkQueue::Unfinished now =
        queue_ == nullptr ? WorkQueue::Unfinished{} : queue_->unfinished();
    depth_.Set(queue_ == nullptr ? 0.0 : static_cast<double>(queue_->depth()));
    unfinished_.Set(Seconds(now.total));
    longest_.Set(Seconds(now.longest));
  }

 private:
  prometheus::Counter& adds_;
  prometheus::Counter& retries_;
  prometheus::Histogram& waited_;
  prometheus::Histogram& worked_;
  prometheus::Gauge& depth_;
  prometheus::Gauge& unfinished_;
  prometheus::Gauge& longest_;
  const WorkQueue* queue_ = nullptr;
};

}  // namespace

class OperatorMetrics::Impl {
 public:
  prometheus::Registry registry;
  ControllerFamilies controller_families{registry};
  QueueFamilies queue_families{registry};
  Family<prometheus::Counter>& requests{
      CounterFamily(registry, "rest_client_requests_total",
                    "Requests to the API server by status code, method and host")};
  Family<prometheus::Histogram>& request_seconds{
      HistogramFamily(registry, "rest_client_request_duration_seconds",
                      "Duration of requests to the API server by verb and host")};
  Family<prometheus::Gauge>& leader{
      GaugeFamily(registry, "leader_election_master_status", "1 on the leader, else 0")};

  Mutex mutex;
  // Node-based: references to entries stay valid.
  std::map<std::string, ControllerSeries> controllers GUARDED_BY(mutex);
  std::map<std::string, QueueSeries> queues GUARDED_BY(mutex);
};

OperatorMetrics::OperatorMetrics() : impl_(std::make_unique<Impl>()) {}
OperatorMetrics::~OperatorMetrics() = default;

ControllerObserver& OperatorMetrics::ForController(const std::string& name, int workers) {
  MutexLock lock(impl_->mutex);
  return impl_->controllers.try_emplace(name, impl_->controller_families, name, workers)
      .first->second;
}

WorkQueueObserver& OperatorMetrics::ForQueue(const std::string& name) {
  const prometheus::Labels labels{{"name", name}, {"controller", name}};
  MutexLock lock(impl_->mutex);
  return impl_->queues.try_emplace(name, impl_->queue_families, labels).first->second;
}

void OperatorMetrics::WatchQueue(const std::string& name, const WorkQueue* queue) {
  MutexLock lock(impl_->mutex);
  impl_->queues.at(name).Watch(queue);
}

void OperatorMetrics::OnRequest(std::string_view verb, std::string_view method,
                                std::string_view host, int code,
                                std::chrono::nanoseconds duration) {
  // client-go calls a request without an answer by this name.
  std::string code_label = code == 0 ? "<error>" : std::to_string(code);
  impl_->requests
      .Add({{"code", std::move(code_label)},
            {"method", std::string(method)},
            {"host", std::string(host)}})
      .Increment();
  impl_->request_seconds
      .Add({{"verb", std::string(verb)}, {"host", std::string(host)}}, RequestBuckets())
      .Observe(Seconds(duration));
}

void OperatorMetrics::SetLeader(const std::string& lease, bool leader) {
  impl_->leader.Add({{"name", lease}}).Set(leader ? 1 : 0);
}

std::vector<prometheus::MetricFamily> OperatorMetrics::Collect() const {
  {
    MutexLock lock(impl_->mutex);
    for (auto& [name, queue] : impl_->queues) queue.Refresh();
  }
  return impl_->registry.Collect();
}

}  // namespace podcache::kube
