// Keys waiting for work: no key is handed out twice at once, bursts of adds collapse, a key added
// while it is worked on comes again afterwards.
//
// Three sets as in client-go: `queue` in order of arrival, `dirty` what needs work (queued or to be
// queued again), `processing` what a worker holds. Delayed adds wait in a heap on the injected
// clock. Invariant: a key is in `queue` at most once, and never while in `processing`. Threads:
// any. After ShutDown adds are ignored and Get answers nothing.
#pragma once

#include <chrono>
#include <cstddef>
#include <deque>
#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <unordered_map>
#include <vector>

#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/queue/rate_limiter.h"

namespace podcache::kube {

// Where a queue reports to; called without the queue's lock held, from any thread.
class WorkQueueObserver {
 public:
  virtual ~WorkQueueObserver() = default;
  virtual void OnAdd() = 0;
  virtual void OnGet(std::chrono::nanoseconds waited) = 0;
  virtual void OnDone(std::chrono::nanoseconds worked) = 0;
  virtual void OnRetry() = 0;
};

class WorkQueue {
 public:
  // `observer` may be null.
  WorkQueue(const Clock& clock, RateLimiter limiter, WorkQueueObserver* observer);

  void Add(const std::string& key);
  // Zero or less: at once. Of several delayed adds of a key the earliest counts.
  void AddAfter(const std::string& key, std::chrono::nanoseconds delay);
  // After the back-off of this key's failures so far.
  void AddRateLimited(const std::string& key);
  // The key succeeded: its next failure starts at the shortest back-off.
  void Forget(const std::string& key);
  int Failures(const std::string& key) const;

  // Blocks for the next key; nothing after ShutDown. Each key must be given back by Done.
  std::optional<std::string> Get();
  // As Get, without waiting.
  std::optional<std::string> TryGet();
  void Done(const std::string& key);

  // Wakes all waiters; keys not handed out are dropped (everything is listed again at the next
  // start).
  void ShutDown();

  std::size_t depth() const;
  // When the next delayed add is due on the monotonic clock.
  std::optional<std::chrono::nanoseconds> NextDelayed() const;
  struct Unfinished {
    std::chrono::nanoseconds total{0};
    std::chrono::nanoseconds longest{0};
  };
  // How long the keys in work have been so.
  Unfinished unfinished() const;

 private:
  struct Delayed {
    std::chrono::nanoseconds due;
    std::string key;
    bool operator>(const Delayed& other) const { return due > other.due; }
  };
  struct Popped {
    std::string key;
    std::chrono::nanoseconds waited{0};
  };
  // False when it was dirty already, or the queue is shut down.
  bool AddLocked(const std::string& key) REQUIRES(mutex_);
  void AddAfterLocked(const std::string& key, std::chrono::nanoseconds delay) REQUIRES(mutex_);
  // How many keys became due.
  int MoveDueLocked() REQUIRES(mutex_);
  Popped PopLocked() REQUIRES(mutex_);
  std::optional<std::string> Take(bool wait);

  const Clock& clock_;
  WorkQueueObserver* const observer_;
  mutable Mutex mutex_;
  CondVar changed_;
  RateLimiter limiter_ GUARDED_BY(mutex_);
  std::deque<std::string> queue_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::chrono::nanoseconds> dirty_ GUARDED_BY(mutex_);  // Since.
  std::unordered_map<std::string, std::chrono::nanoseconds> processing_ GUARDED_BY(mutex_);
  std::priority_queue<Delayed, std::vector<Delayed>, std::greater<>> delayed_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::chrono::nanoseconds> due_ GUARDED_BY(mutex_);  // Earliest.
  bool shut_down_ GUARDED_BY(mutex_) = false;
};

}  // namespace podcache::kube
