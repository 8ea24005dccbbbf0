// What the operator remembers of running caches between reconciles. All of it may be lost at any
// time: a restart costs at most one more attempt or one more event.
//
// Bounded: entries of pods that are gone are dropped by Forget and Retain.
// Threads: any; entries are handed out by value and put back, a pod is worked on by one reconcile
// at a time.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <unordered_map>

#include "common/base/mutex.h"
#include "common/base/thread_annotations.h"
#include "operator/admin/node_client.h"
#include "operator/reconcile/pod_plan.h"
#include "operator/reconcile/resize.h"

namespace podcache::control {

// A value that the API server did not take for this pod.
struct RefusedResize {
  std::int64_t generation = 0;  // Of the CacheSidecar.
  ContainerAmounts amounts;
  std::string message;
};

struct PodMemory {
  std::string container_id;  // Facts and report are about this start of the container.
  std::optional<HostFacts> host;
  std::optional<NodeInfo> report;  // Last answer.
  std::string error;               // Of the last question, empty if it was answered.
  std::chrono::nanoseconds polled_at{0};
  int failures = 0;  // In a row.
  std::uint64_t growth_bytes_per_second = 0;

  std::optional<ContainerAmounts> last_patched;
  // Our last write while the container kept ending; forgotten once the pod is as wanted.
  std::optional<std::chrono::nanoseconds> patched_while_ending_at;
  std::uint64_t patched_version = 0;  // resourceVersion of the pod after our last write to it.
  std::optional<RefusedResize> refused;
  std::optional<ResizeState> last_state;  // Absent: not seen by this process yet.
  std::string last_message;
  bool not_injected_told = false;
};

class ResizeHistory {
 public:
  // A fresh memory for a pod never seen.
  PodMemory Get(const std::string& uid) const;
  void Put(const std::string& uid, PodMemory memory);
  // Drops what belongs to none of these pods of the owner; the uids dropped are returned.
  std::vector<std::string> Retain(const std::string& owner, const std::set<std::string>& uids);

 private:
  mutable Mutex mutex_;
  std::unordered_map<std::string, PodMemory> pods_ GUARDED_BY(mutex_);
  std::unordered_map<std::string, std::set<std::string>> owners_ GUARDED_BY(mutex_);
};

// Notes an answer or its absence: host facts, growth of resident memory, back-off.
void NoteReport(PodMemory& memory, const absl::StatusOr<NodeInfo>& report,
                std::chrono::nanoseconds now);

// Whether the server should be asked again: more often while something moves, with back-off while
// it does not answer.
bool PollDue(const PodMemory& memory, bool moving, std::chrono::nanoseconds now);

// At most `limit` pods are resized at once, over all CacheSidecars.
class ResizeSlots {
 public:
  explicit ResizeSlots(std::size_t limit) : limit_(limit) {}
  // True if the pod holds a slot already or gets one.
  bool Acquire(const std::string& uid);
  void Release(const std::string& uid);

 private:
  const std::size_t limit_;
  Mutex mutex_;
  std::set<std::string> held_ GUARDED_BY(mutex_);
};

}  // namespace podcache::control
