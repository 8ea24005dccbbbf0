#include "operator/cache/informer.h"

#include <utility>

namespace podcache::kube {
namespace {

// How often a wait for the first state looks at the stop.
constexpr std::chrono::milliseconds kStopCheck{50};

}  // namespace

Informer::Informer(ApiClient& client, const ResourceType& type, ReflectorOptions reflector,
                   InformerOptions options, const Clock& clock, std::uint64_t seed, Logger log)
    : type_(type),
      options_(options),
      clock_(clock),
      reflector_(client, type, std::move(reflector), *this, clock, seed, std::move(log)),
      last_resync_(clock.MonotonicNow()) {}

Informer::~Informer() { Stop(); }

void Informer::Start() {
  thread_ = std::jthread(
      [this](const std::stop_token& stop) { reflector_.Run(stop, [this] { ResyncIfDue(); }); });
}

void Informer::Stop() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
}

bool Informer::HasSynced() const {
  MutexLock lock(mutex_);
  return synced_;
}

bool Informer::WaitForSync(std::chrono::nanoseconds timeout, const std::stop_token& stop) const {
  const auto until = std::chrono::steady_clock::now() + timeout;
  MutexLock lock(mutex_);
  while (!synced_) {
    if (stop.stop_requested() || std::chrono::steady_clock::now() >= until) return false;
    synced_changed_.WaitFor(mutex_, kStopCheck);
  }
  return true;
}

std::chrono::nanoseconds Informer::StepForTest() {
  const std::chrono::nanoseconds wait = reflector_.Step(std::stop_token());
  ResyncIfDue();
  return wait;
}

void Informer::Notify(const ObjectStore::Change& change) {
  if (change.before == nullptr && change.after == nullptr)
    return;  // A delete of what we never saw.
  const InformerEvent event{.before = change.before, .after = change.after};
  for (const Handler& handler : handlers_) handler(event);
}

void Informer::OnReplace(std::vector<ObjectPtr> objects) {
  for (const ObjectStore::Change& change : store_.Replace(std::move(objects))) Notify(change);
  MutexLock lock(mutex_);
  synced_ = true;
  synced_changed_.NotifyAll();
}

void Informer::OnPut(Object object) { Notify(store_.Put(std::move(object))); }

void Informer::OnDelete(const Object& last_state) { Notify(store_.Remove(last_state.key())); }

void Informer::ResyncIfDue() {
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  if (!HasSynced() || now - last_resync_ < options_.resync) return;
  last_resync_ = now;
  for (const ObjectPtr& object : store_.List()) Notify({.before = object, .after = object});
}

}  // namespace podcache::kube
