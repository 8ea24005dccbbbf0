// A reflector, its store and who wants to hear of changes.
//
//   Informer pods(client, kPods, {.label_selector = "app=web"}, {}, clock, seed, log);
//   pods.AddHandler([&](const InformerEvent& event) { … });
//   pods.Start();
//   if (!pods.WaitForSync(std::chrono::minutes(2), stop)) …
//
// Threads: AddHandler and store().AddIndex before Start; handlers run on the informer's thread, one
// at a time, after the store holds the change; the rest from any thread. The destructor stops.
// Ownership: borrows client and clock.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <thread>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "operator/cache/object_store.h"
#include "operator/cache/reflector.h"

namespace podcache::kube {

// before null: added; after null: deleted; both the same: resync.
struct InformerEvent {
  ObjectPtr before;
  ObjectPtr after;

  // The newer of the two; never null.
  const Object& object() const { return after != nullptr ? *after : *before; }
  bool resync() const { return before == after; }
};

struct InformerOptions {
  // How often handlers hear of every object anew; checked when a watch ends, so some minutes late
  // at most.
  std::chrono::nanoseconds resync = std::chrono::hours(10);
};

class Informer final : private ReflectorSink {
 public:
  using Handler = std::function<void(const InformerEvent& event)>;

  Informer(ApiClient& client, const ResourceType& type, ReflectorOptions reflector,
           InformerOptions options, const Clock& clock, std::uint64_t seed, Logger log);
  ~Informer() override;

  const ResourceType& type() const { return type_; }
  ObjectStore& store() { return store_; }
  const ObjectStore& store() const { return store_; }

  void AddHandler(Handler handler) { handlers_.push_back(std::move(handler)); }
  void Start();
  // Aborts the watch at once and joins. Idempotent.
  void Stop();

  // The first list is in the store and all handlers have heard of it.
  bool HasSynced() const;
  // False when the time ran out or the stop came first.
  bool WaitForSync(std::chrono::nanoseconds timeout, const std::stop_token& stop) const;

  // One step of the reflector without a thread, for tests.
  std::chrono::nanoseconds StepForTest();

 private:
  void OnReplace(std::vector<ObjectPtr> objects) override;
  void OnPut(Object object) override;
  void OnDelete(const Object& last_state) override;
  void Notify(const ObjectStore::Change& change);
  void ResyncIfDue();

  const ResourceType type_;
  const InformerOptions options_;
  const Clock& clock_;
  ObjectStore store_;
  std::vector<Handler> handlers_;
  Reflector reflector_;
  std::chrono::nanoseconds last_resync_;
  mutable Mutex mutex_;
  mutable CondVar synced_changed_;
  bool synced_ GUARDED_BY(mutex_) = false;
  std::jthread thread_;
};

}  // namespace podcache::kube
