#include "operator/reconcile/resize_history.h"

#include <algorithm>
#include <utility>

#include "common/status/status.h"

namespace podcache::control {

namespace {

using std::chrono::milliseconds;
using std::chrono::nanoseconds;
using std::chrono::seconds;

constexpr milliseconds kMovingInterval{150};
constexpr seconds kSettledInterval{20};
constexpr seconds kLongestBackOff{30};

std::uint64_t GrowthPerSecond(const PodMemory& memory, const NodeInfo& info, nanoseconds now) {
  const auto elapsed = std::chrono::duration_cast<milliseconds>(now - memory.polled_at).count();
  const std::uint64_t before = memory.report->resident_memory_bytes;
  if (elapsed <= 0 || info.resident_memory_bytes <= before) return 0;
  return (info.resident_memory_bytes - before) * 1000 / static_cast<std::uint64_t>(elapsed);
}

nanoseconds BackOff(int failures) {
  const int doublings = std::min(failures - 1, 6);
  return std::min<nanoseconds>(milliseconds(500 << doublings), kLongestBackOff);
}

}  // namespace

PodMemory ResizeHistory::Get(const std::string& uid) const {
  MutexLock lock(mutex_);
  const auto found = pods_.find(uid);
  return found == pods_.end() ? PodMemory() : found->second;
}

void ResizeHistory::Put(const std::string& uid, PodMemory memory) {
  MutexLock lock(mutex_);
  pods_[uid] = std::move(memory);
}

std::vector<std::string> ResizeHistory::Retain(const std::string& owner,
                                               const std::set<std::string>& uids) {
  MutexLock lock(mutex_);
  std::vector<std::string> dropped;
  for (const std::string& uid : std::exchange(owners_[owner], uids)) {
    if (uids.contains(uid)) continue;
    pods_.erase(uid);
    dropped.push_back(uid);
  }
  if (uids.empty()) owners_.erase(owner);
  return dropped;
}

void NoteReport(PodMemory& memory, const absl::StatusOr<NodeInfo>& report, nanoseconds now) {
  if (!report.ok()) {
    memory.report.reset();
    memory.error = std::string(MessageOf(report.status()));
    ++memory.failures;
    memory.polled_at = now;
    return;
  }
  // Halved at each look, so that an old peak does not hold back a shrink for long.
  const std::uint64_t growth = memory.report ? GrowthPerSecond(memory, *report, now) : 0;
  memory.growth_bytes_per_second = std::max(growth, memory.growth_bytes_per_second / 2);
  memory.host = HostFacts{report->architecture, report->page_size_bytes, report->usable_cpus};
  memory.report = *report;
  memory.error.clear();
  memory.failures = 0;
  memory.polled_at = now;
}

bool PollDue(const PodMemory& memory, bool moving, nanoseconds now) {
  if (memory.polled_at == nanoseconds(0)) return true;
  const nanoseconds since = now - memory.polled_at;
  if (memory.failures > 0) return since >= BackOff(memory.failures);
  return since >= (moving ? nanoseconds(kMovingInterval) : nanoseconds(kSettledInterval));
}

bool ResizeSlots::Acquire(const std::string& uid) {
  MutexLock lock(mutex_);
  if (held_.contains(uid)) return true;
  if (held_.size() >= limit_) return false;
  held_.insert(uid);
  return true;
}

void ResizeSlots::Release(const std::string& uid) {
  MutexLock lock(mutex_);
  held_.erase(uid);
}

}  // namespace podcache::control
