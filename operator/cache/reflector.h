// Keeps a sink equal to one collection of the API server: list, then watch from the list's version,
// over and over.
//
//   410, Expired              list again
//   other errors, end         watch again from the last version seen, after a back-off of 0.8 s
//   doubling to 30 s 429, 504 "too large"      wait as the server says bookmark moves the version
//   on, so that a reconnect costs no list
//
// Step() does one list or one watch and returns how long to wait before the next: tests drive it
// without threads. Threads: Run or Step on one thread. Ownership: borrows client, sink, clock and
// random source. Source: Kubernetes API concepts, "Efficient detection of changes".
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <random>
#include <stop_token>
#include <string>
#include <vector>

#include "common/base/clock.h"
#include "common/logging/logger.h"
#include "operator/cache/object_store.h"
#include "operator/cache/watch_backoff.h"
#include "operator/client/api_client.h"

namespace podcache::kube {

// What a reflector feeds. Called on the reflector's thread, in the order of the API server.
class ReflectorSink {
 public:
  virtual ~ReflectorSink() = default;
  virtual void OnReplace(std::vector<ObjectPtr> objects) = 0;
  virtual void OnPut(Object object) = 0;
  virtual void OnDelete(const Object& last_state) = 0;
};

struct ReflectorOptions {
  std::string ns{};  // Empty: all namespaces.
  std::string label_selector{};
  std::string field_selector{};
  int page_limit = 500;
  // Reads the first state from the watch itself; falls back to lists where the server refuses (etcd
  // before 3.4.25, Kubernetes before 1.32 unless told).
  bool use_watch_list = false;
  // Shrinks an object before it is kept: called on every object that arrives.
  std::function<void(Object&)> transform{};
};

class Reflector {
 public:
  Reflector(ApiClient& client, const ResourceType& type, ReflectorOptions options,
            ReflectorSink& sink, const Clock& clock, std::uint64_t seed, Logger log);

  // Until the stop; `after_step` runs after each step (resync).
  void Run(const std::stop_token& stop, const std::function<void()>& after_step);
  // One list or one watch. The result is the wait before the next step; zero: at once.
  std::chrono::nanoseconds Step(const std::stop_token& stop);

  // Of the last list or event; empty before the first list.
  const std::string& resource_version() const { return resource_version_; }

 private:
  std::chrono::nanoseconds ListStep();
  std::chrono::nanoseconds WatchStep(const std::stop_token& stop);
  std::chrono::nanoseconds WatchListStep(const std::stop_token& stop);
  absl::StatusOr<std::vector<ObjectPtr>> ReadPages();
  absl::Status Watch(bool send_initial_events, const ApiClient::WatchHandler& handler,
                     const std::stop_token& stop);
  void Replace(std::vector<ObjectPtr> objects, std::string resource_version);
  void Deliver(WatchEvent event);
  // Both return the wait.
  std::chrono::nanoseconds AfterWatch(const absl::Status& status, const std::stop_token& stop);
  std::chrono::nanoseconds AfterFailure(const absl::Status& status, std::string_view message);

  ApiClient& client_;
  const ResourceType type_;
  const ReflectorOptions options_;
  ReflectorSink& sink_;
  Logger log_;
  std::mt19937_64 random_;
  WatchBackoff backoff_;
  std::string resource_version_;
  bool need_list_ = true;
  bool list_in_one_page_ = false;    // A list in pages expired half-way.
  bool expired_ = false;             // The last watch expired; false again after any event.
  bool watch_list_refused_ = false;  // By the server, for good.
  std::string last_failure_;         // Told already.
};

}  // namespace podcache::kube
