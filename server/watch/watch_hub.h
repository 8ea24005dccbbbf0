// Carries lines about what happens from whoever sees it to the connections that watch.
//
// A line goes into a buffer of its producer (one for each worker), and from there, when somebody
// comes to collect, into the buffer of every watcher that wants its stream. Both are bounded: what
// finds no room is dropped and counted, and the watcher is told with a skipped line. So a slow
// watcher costs memory of a fixed size, and nobody ever waits for it. Lines reach a watcher in the
// order of their gid, as far as they were collected together.
//
// Cost while nobody watches: one relaxed load (streams()).
//
// Threads: any. A buffer belongs to one producer. Lock order: the hub's mutex, a buffer's.
// Ownership: buffers and watchers are gone before the hub.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/mutex.h"
#include "common/base/output_buffer.h"
#include "server/protocol/watch_lines.h"

namespace podcache::watch {

inline constexpr std::size_t kMaxWatchers = 20;

class WatchHub;

// Where one producer puts its lines.
class EventBuffer {
 public:
  ~EventBuffer();
  EventBuffer(const EventBuffer&) = delete;
  EventBuffer& operator=(const EventBuffer&) = delete;

  // Drops the line, and counts that, when there is no room.
  void Append(protocol::Streams stream, std::uint64_t gid, std::string_view line) noexcept;

 private:
  friend class WatchHub;
  explicit EventBuffer(WatchHub& hub) noexcept : hub_(hub) {}

  WatchHub& hub_;
  Mutex mutex_;
  std::string bytes_ GUARDED_BY(mutex_);
};

// One watching connection's place.
class Watcher {
 public:
  ~Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;

  // Appends what has come. While earlier output waits nothing is added to it.
  void Take(OutputBuffer& output);

 private:
  friend class WatchHub;
  Watcher(WatchHub& hub, protocol::Streams streams, std::uint64_t first_gid) noexcept
      : hub_(hub), streams_(streams), first_gid_(first_gid) {}

  WatchHub& hub_;
  const protocol::Streams streams_;
  const std::uint64_t first_gid_;  // What happened before is not for it.
  // Both under the hub's mutex.
  std::string text_;
  std::uint64_t skipped_ = 0;
};

struct WatchSettings {
  std::size_t watcher_bytes = 256U << 10;
  std::size_t producer_bytes = 64U << 10;
  // Told of memory taken (positive) and given back.
  std::function<void(std::int64_t delta_bytes)> charge_memory = [](std::int64_t) {};
};

// Since start, but for the number of watchers.
struct WatchStats {
  std::uint64_t watchers = 0;
  std::uint64_t produced = 0;
  std::uint64_t dropped = 0;  // By producers, for lack of room.
  std::uint64_t sent = 0;
  std::uint64_t skipped = 0;  // Of a watcher.
};

class WatchHub {
 public:
  explicit WatchHub(WatchSettings settings) : settings_(std::move(settings)) {}
  WatchHub(const WatchHub&) = delete;
  WatchHub& operator=(const WatchHub&) = delete;

  // What anybody watches.
  protocol::Streams streams() const noexcept { return streams_.load(std::memory_order_relaxed); }
  std::uint64_t NextGid() noexcept { return last_gid_.fetch_add(1, std::memory_order_relaxed) + 1; }

  std::unique_ptr<EventBuffer> NewBuffer();
  // Null when there are kMaxWatchers already.
  std::unique_ptr<Watcher> Watch(protocol::Streams streams);

  WatchStats stats() const;

 private:
  friend class EventBuffer;
  friend class Watcher;
  struct Event {
    std::uint64_t gid;
    protocol::Streams stream;
    std::string_view line;
  };

  void Remove(EventBuffer& buffer);
  void Remove(Watcher& watcher);
  void Take(Watcher& watcher, OutputBuffer& output);
  // For a producer whose buffer fills up; does nothing while somebody else is collecting.
  void TryCollect() noexcept;
  void CollectLocked() REQUIRES(mutex_);
  void DeliverLocked(Watcher& watcher, std::string_view line) REQUIRES(mutex_);
  void UpdateLocked() REQUIRES(mutex_);

  const WatchSettings settings_;
  std::atomic<protocol::Streams> streams_{0};
  std::atomic<std::uint64_t> last_gid_{0};
  std::atomic<std::uint64_t> produced_{0};
  std::atomic<std::uint64_t> dropped_{0};

  mutable Mutex mutex_;
  std::vector<EventBuffer*> buffers_ GUARDED_BY(mutex_);
  std::vector<Watcher*> watchers_ GUARDED_BY(mutex_);
  // What is being collected; kept for their memory while somebody watches.
  std::vector<std::string> collected_ GUARDED_BY(mutex_);
  std::vector<Event> events_ GUARDED_BY(mutex_);
  std::int64_t charged_bytes_ GUARDED_BY(mutex_) = 0;
  std::uint64_t sent_ GUARDED_BY(mutex_) = 0;
  std::uint64_t skipped_ GUARDED_BY(mutex_) = 0;
};

}  // namespace podcache::watch
