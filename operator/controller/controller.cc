#include "operator/controller/controller.h"

#include <exception>
#include <utility>

#include "common/base/check.h"

namespace podcache::kube {
namespace {

ReconcileOutcome OutcomeOf(const absl::StatusOr<Result>& result) {
  if (!result.ok()) {
    return IsTerminal(result.status()) ? ReconcileOutcome::kTerminalError
                                       : ReconcileOutcome::kError;
  }
  return result->requeue_after ? ReconcileOutcome::kRequeueAfter : ReconcileOutcome::kSuccess;
}

}  // namespace

Controller::Controller(ControllerOptions options, Reconciler& reconciler, const Clock& clock,
                       ControllerMetrics& metrics, Logger log)
    : options_(std::move(options)),
      reconciler_(reconciler),
      clock_(clock),
      metrics_(metrics),
      observer_(metrics.ForController(options_.name, options_.workers)),
      log_(log.With({{"controller", options_.name}})),
      queue_(clock, RateLimiter(options_.rate_limit), &metrics.ForQueue(options_.name)) {
  PODCACHE_CHECK(options_.workers > 0);
  metrics_.WatchQueue(options_.name, &queue_);
}

Controller::~Controller() {
  RequestStop();
  for (std::thread& worker : workers_) worker.join();
  metrics_.WatchQueue(options_.name, nullptr);
}

void Controller::Watch(Informer& informer, EventMapper mapper, Predicate predicate) {
  informer.AddHandler([this, mapper = std::move(mapper),
                       predicate = std::move(predicate)](const InformerEvent& event) {
    try {
      if (!predicate(event)) return;
      if (event.before != nullptr && !event.resync()) EnqueueAll(mapper(*event.before));
      if (event.after != nullptr) EnqueueAll(mapper(*event.after));
    } catch (const std::exception& error) {
      // An object of unexpected shape must not end the informer for all others.
      log_.Error("Cannot map event",
                 {{"object", event.object().key().ToString()}, {"error", error.what()}});
    }
  });
}

void Controller::EnqueueAll(const std::vector<NamespacedName>& keys) {
  for (const NamespacedName& key : keys) Enqueue(key);
}

void Controller::Start() {
  PODCACHE_CHECK(workers_.empty());
  {
    MutexLock lock(mutex_);
    running_ = options_.workers;
  }
  for (int i = 0; i < options_.workers; ++i) workers_.emplace_back([this] { Work(); });
}

bool Controller::Join(std::chrono::nanoseconds timeout) {
  const auto until = std::chrono::steady_clock::now() + timeout;
  {
    MutexLock lock(mutex_);
    while (running_ > 0) {
      const auto left = until - std::chrono::steady_clock::now();
      if (left <= left.zero()) return false;
      worker_ended_.WaitFor(mutex_, left);
    }
  }
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  return true;
}

void Controller::Work() {
  while (const std::optional<std::string> key = queue_.Get()) Process(*key);
  MutexLock lock(mutex_);
  --running_;
  worker_ended_.NotifyAll();
}

bool Controller::ProcessOne() {
  const std::optional<std::string> key = queue_.TryGet();
  if (key) Process(*key);
  return key.has_value();
}

void Controller::Process(const std::string& key) {
  const Logger log = log_.With(
      {{"object", key}, {"reconcileID", options_.name + "-" + std::to_string(next_id_++)}});
  observer_.OnReconcileStart();
  const std::chrono::nanoseconds started = clock_.MonotonicNow();
  const absl::StatusOr<Result> result =
      ReconcileGuarded({.key = NamespacedName::Parse(key), .log = log});
  observer_.OnReconcileEnd(OutcomeOf(result), clock_.MonotonicNow() - started);
  if (absl::IsDeadlineExceeded(result.status())) observer_.OnTimeout();
  Settle(key, result, log);
  queue_.Done(key);
}

absl::StatusOr<Result> Controller::ReconcileGuarded(const Request& request) {
  try {
    return reconciler_.Reconcile(request);
  } catch (const std::exception& error) {
    // JSON and YAML libraries throw on what they do not expect: an error like any other, but worth
    // a look.
    observer_.OnException();
    return Internal(std::string("exception: ") + error.what());
  }
}

void Controller::Settle(const std::string& key, const absl::StatusOr<Result>& result,
                        const Logger& log) {
  switch (OutcomeOf(result)) {
    case ReconcileOutcome::kSuccess:
      queue_.Forget(key);
      return;
    case ReconcileOutcome::kRequeueAfter:
      queue_.Forget(key);
      queue_.AddAfter(key, *result->requeue_after);
      return;
    case ReconcileOutcome::kTerminalError:
      queue_.Forget(key);
      log.Error("Reconcile failed for good", {{"error", MessageOf(result.status())}});
      return;
    case ReconcileOutcome::kError:
      queue_.AddRateLimited(key);
      // Somebody else wrote first: the next try reads anew.
      if (absl::IsAborted(result.status())) {
        log.Debug("Conflict, trying again", {{"error", MessageOf(result.status())}});
      } else {
        log.Error("Reconcile failed", {{"error", MessageOf(result.status())}});
      }
      return;
  }
}

}  // namespace podcache::kube
