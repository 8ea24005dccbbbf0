#include "operator/cache/reflector.h"

#include <map>
#include <utility>

#include "common/base/stop_wait.h"
#include "operator/client/api_error.h"

namespace podcache::kube {
namespace {

constexpr std::chrono::nanoseconds kAtOnce{0};
// A server that is behind and does not say how far.
constexpr std::chrono::seconds kBehindDelay{1};
constexpr int kWatchMinSeconds = 300;
constexpr int kWatchMaxSeconds = 600;
constexpr char kInitialEventsEnd[] = "k8s.io/initial-events-end";

bool IsEndOfInitialEvents(const WatchEvent& event) {
  return event.type == WatchEventType::kBookmark &&
         event.object.annotation(kInitialEventsEnd) == "true";
}

// An answer of the server which is not about its load or our version. Which one depends on the
// release: 422 where the feature is off, an ERROR event with code 500 where its etcd is too old.
bool RefusesWatchList(const absl::Status& status) {
  return GetApiErrorDetails(status).has_value() && !IsGone(status) && !IsTooManyRequests(status) &&
         !IsTooLargeResourceVersion(status) && !absl::IsNotFound(status);
}

}  // namespace

Reflector::Reflector(ApiClient& client, const ResourceType& type, ReflectorOptions options,
                     ReflectorSink& sink, const Clock& clock, std::uint64_t seed, Logger log)
    : client_(client),
      type_(type),
      options_(std::move(options)),
      sink_(sink),
      log_(log.With({{"resource", type.plural}})),
      random_(seed),
      backoff_(clock, random_) {}

void Reflector::Run(const std::stop_token& stop, const std::function<void()>& after_step) {
  while (!stop.stop_requested()) {
    const std::chrono::nanoseconds wait = Step(stop);
    after_step();
    if (wait > kAtOnce && WaitOrStop(stop, wait)) return;
  }
}

std::chrono::nanoseconds Reflector::Step(const std::stop_token& stop) {
  if (!need_list_) return WatchStep(stop);
  return options_.use_watch_list && !watch_list_refused_ ? WatchListStep(stop) : ListStep();
}

absl::StatusOr<std::vector<ObjectPtr>> Reflector::ReadPages() {
  ListOptions list{.label_selector = options_.label_selector,
                   .field_selector = options_.field_selector,
                   .limit = list_in_one_page_ ? 0 : options_.page_limit};
  std::vector<ObjectPtr> objects;
  do {
    PODCACHE_ASSIGN_OR_RETURN(ListPage page, client_.List(type_, options_.ns, list));
    // Page by page, so that at most one page is held at full size.
    for (Object& object : page.items) {
      if (options_.transform) options_.transform(object);
      objects.push_back(std::make_shared<const Object>(std::move(object)));
    }
    list.continue_token = std::move(page.continue_token);
    resource_version_ = std::move(page.resource_version);
  } while (!list.continue_token.empty());
  return objects;
}

void Reflector::Replace(std::vector<ObjectPtr> objects, std::string resource_version) {
  resource_version_ = std::move(resource_version);
  need_list_ = false;
  list_in_one_page_ = false;
  last_failure_.clear();
  log_.Debug("Listed", {{"objects", objects.size()}, {"resourceVersion", resource_version_}});
  sink_.OnReplace(std::move(objects));
}

std::chrono::nanoseconds Reflector::ListStep() {
  absl::StatusOr<std::vector<ObjectPtr>> objects = ReadPages();
  if (objects.ok()) {
    Replace(*std::move(objects), resource_version_);
    return kAtOnce;
  }
  if (IsGone(objects.status()) && !list_in_one_page_) {
    // Compaction overtook the pages: a list too slow to be read in pieces is read whole.
    list_in_one_page_ = true;
    return kAtOnce;
  }
  return AfterFailure(objects.status(), "Cannot list");
}

absl::Status Reflector::Watch(bool send_initial_events, const ApiClient::WatchHandler& handler,
                              const std::stop_token& stop) {
  std::uniform_int_distribution<int> seconds(kWatchMinSeconds, kWatchMaxSeconds);
  const WatchOptions watch{.label_selector = options_.label_selector,
                           .field_selector = options_.field_selector,
                           .resource_version = send_initial_events ? "" : resource_version_,
                           .timeout = std::chrono::seconds(seconds(random_)),
                           .send_initial_events = send_initial_events};
  return client_.Watch(type_, options_.ns, watch, handler, stop);
}

void Reflector::Deliver(WatchEvent event) {
  expired_ = false;
  last_failure_.clear();
  resource_version_ = event.object.resource_version();
  if (event.type == WatchEventType::kBookmark) return;
  if (options_.transform) options_.transform(event.object);
  if (event.type == WatchEventType::kDeleted) {
    sink_.OnDelete(event.object);
  } else {
    sink_.OnPut(std::move(event.object));
  }
}

std::chrono::nanoseconds Reflector::WatchStep(const std::stop_token& stop) {
  const absl::Status status = Watch(
      false,
      [this](WatchEvent event) {
        Deliver(std::move(event));
        return true;
      },
      stop);
  return AfterWatch(status, stop);
}

std::chrono::nanoseconds Reflector::WatchListStep(const std::stop_token& stop) {
  std::map<std::string, ObjectPtr> initial;
  const absl::Status status = Watch(
      true,
      [&](WatchEvent event) {
        if (!need_list_) {
          Deliver(std::move(event));
          return true;
        }
        if (IsEndOfInitialEvents(event)) {
          std::vector<ObjectPtr> objects;
          for (auto& [key, object] : initial) objects.push_back(std::move(object));
          initial.clear();
          Replace(std::move(objects), std::string(event.object.resource_version()));
          return true;
        }
        if (event.type == WatchEventType::kBookmark) return true;
        std::string key = event.object.key().ToString();
        if (event.type == WatchEventType::kDeleted) {
          initial.erase(key);
          return true;
        }
        if (options_.transform) options_.transform(event.object);
        initial[std::move(key)] = std::make_shared<const Object>(std::move(event.object));
        return true;
      },
      stop);
  if (need_list_ && RefusesWatchList(status)) {
    log_.Info("WatchList is refused, listing instead", {{"error", MessageOf(status)}});
    watch_list_refused_ = true;
    return kAtOnce;
  }
  return AfterWatch(status, stop);
}

std::chrono::nanoseconds Reflector::AfterWatch(const absl::Status& status,
                                               const std::stop_token& stop) {
  if (stop.stop_requested()) return kAtOnce;
  if (status.ok()) return backoff_.Next();
  if (IsGone(status)) {
    need_list_ = true;
    log_.Info("Watch expired, listing again", {{"resourceVersion", resource_version_}});
    // A server that expires each list at once must not be asked without pause.
    return std::exchange(expired_, true) ? backoff_.Next() : kAtOnce;
  }
  // The kind itself is gone; what comes after it is another state.
  if (absl::IsNotFound(status)) need_list_ = true;
  return AfterFailure(status, "Watch failed");
}

std::chrono::nanoseconds Reflector::AfterFailure(const absl::Status& status,
                                                 std::string_view message) {
  std::chrono::nanoseconds wait = kBehindDelay;
  if (const auto told = RetryAfter(status)) {
    wait = *told;
  } else if (!IsTooLargeResourceVersion(status)) {
    wait = backoff_.Next();
  }
  const std::string_view error = MessageOf(status);
  // A lasting trouble is told once.
  if (error != last_failure_) {
    log_.Warning(message, {{"error", error}});
    last_failure_ = error;
  } else {
    log_.Debug(message, {{"error", error}});
  }
  return wait;
}

}  // namespace podcache::kube
