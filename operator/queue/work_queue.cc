#include "operator/queue/work_queue.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace podcache::kube {

WorkQueue::WorkQueue(const Clock& clock, RateLimiter limiter, WorkQueueObserver* observer)
    : clock_(clock), observer_(observer), limiter_(std::move(limiter)) {}

bool WorkQueue::AddLocked(const std::string& key) {
  if (shut_down_ || !dirty_.emplace(key, clock_.MonotonicNow()).second) return false;
  // Being worked on: Done will queue it again.
  if (processing_.find(key) == processing_.end()) {
    queue_.push_back(key);
    changed_.NotifyOne();
  }
  return true;
}

void WorkQueue::Add(const std::string& key) {
  bool added;
  {
    MutexLock lock(mutex_);
    added = AddLocked(key);
  }
  if (added && observer_ != nullptr) observer_->OnAdd();
}

void WorkQueue::AddAfterLocked(const std::string& key, std::chrono::nanoseconds delay) {
  const std::chrono::nanoseconds due = clock_.MonotonicNow() + delay;
  const auto [entry, is_new] = due_.emplace(key, due);
  if (!is_new && entry->second <= due) return;
  entry->second = due;
  delayed_.push({due, key});
  changed_.NotifyOne();  // A waiter may now have to wake earlier.
}

void WorkQueue::AddAfter(const std::string& key, std::chrono::nanoseconds delay) {
  if (delay <= std::chrono::nanoseconds(0)) {
    Add(key);
    return;
  }
  MutexLock lock(mutex_);
  if (!shut_down_) AddAfterLocked(key, delay);
}

void WorkQueue::AddRateLimited(const std::string& key) {
  {
    MutexLock lock(mutex_);
    if (shut_down_) return;
    AddAfterLocked(key, limiter_.When(key, clock_.MonotonicNow()));
  }
  if (observer_ != nullptr) observer_->OnRetry();
}

void WorkQueue::Forget(const std::string& key) {
  MutexLock lock(mutex_);
  limiter_.Forget(key);
}

int WorkQueue::Failures(const std::string& key) const {
  MutexLock lock(mutex_);
  return limiter_.Failures(key);
}

int WorkQueue::MoveDueLocked() {
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  int added = 0;
  while (!delayed_.empty() && delayed_.top().due <= now) {
    const Delayed next = delayed_.top();
    delayed_.pop();
    const auto entry = due_.find(next.key);
    // Left behind by an earlier time for the same key.
    if (entry == due_.end() || entry->second != next.due) continue;
    due_.erase(entry);
    if (AddLocked(next.key)) ++added;
  }
  return added;
}

WorkQueue::Popped WorkQueue::PopLocked() {
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  Popped popped{.key = std::move(queue_.front())};
  queue_.pop_front();
  const auto dirty = dirty_.find(popped.key);
  PODCACHE_CHECK(dirty != dirty_.end());
  popped.waited = now - dirty->second;
  dirty_.erase(dirty);
  processing_.emplace(popped.key, now);
  return popped;
}

std::optional<std::string> WorkQueue::Take(bool wait) {
  int added = 0;
  std::optional<Popped> popped;
  {
    MutexLock lock(mutex_);
    for (;;) {
      added += MoveDueLocked();
      if (shut_down_) break;
      if (!queue_.empty()) {
        popped = PopLocked();
        break;
      }
      if (!wait) break;
      if (delayed_.empty()) {
        changed_.Wait(mutex_);
      } else {
        changed_.WaitFor(mutex_, delayed_.top().due - clock_.MonotonicNow());
      }
    }
  }
  for (; observer_ != nullptr && added > 0; --added) observer_->OnAdd();
  if (!popped) return std::nullopt;
  if (observer_ != nullptr) observer_->OnGet(popped->waited);
  return std::move(popped->key);
}

std::optional<std::string> WorkQueue::Get() { return Take(/*wait=*/true); }
std::optional<std::string> WorkQueue::TryGet() { return Take(/*wait=*/false); }

void WorkQueue::Done(const std::string& key) {
  std::chrono::nanoseconds worked;
  {
    MutexLock lock(mutex_);
    const auto entry = processing_.find(key);
    PODCACHE_CHECK(entry != processing_.end());
    worked = clock_.MonotonicNow() - entry->second;
    processing_.erase(entry);
    if (!shut_down_ && dirty_.find(key) != dirty_.end()) {
      queue_.push_back(key);
      changed_.NotifyOne();
    }
  }
  if (observer_ != nullptr) observer_->OnDone(worked);
}

void WorkQueue::ShutDown() {
  MutexLock lock(mutex_);
  shut_down_ = true;
  changed_.NotifyAll();
}

std::size_t WorkQueue::depth() const {
  MutexLock lock(mutex_);
  return queue_.size();
}

std::optional<std::chrono::nanoseconds> WorkQueue::NextDelayed() const {
  MutexLock lock(mutex_);
  if (delayed_.empty()) return std::nullopt;
  return delayed_.top().due;
}

WorkQueue::Unfinished WorkQueue::unfinished() const {
  MutexLock lock(mutex_);
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  Unfinished result;
  for (const auto& [key, since] : processing_) {
    result.total += now - since;
    result.longest = std::max(result.longest, now - since);
  }
  return result;
}

}  // namespace podcache::kube
