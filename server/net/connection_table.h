// All connections there are, for whoever wants to list them.
//
// A connection is in the table from its first turn to its end, whatever worker it belongs to. Its
// worker writes what it is doing with relaxed stores; a reader sees each value as it was a moment
// ago and stops nobody: the table is cut into shards by id, and a lock is held for one shard's copy
// only.
//
// Threads: any. Ownership: entries belong to their connections; the table outlives them.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "common/base/mutex.h"
#include "server/net/peer_address.h"

namespace podcache::net {

// What a connection is doing, in the words that `stats conns` has for it.
enum class Activity : std::uint8_t {
  kWaiting,   // For the start or the rest of a request line.
  kRunning,   // Its requests are being executed.
  kValue,     // For the rest of a data block.
  kSkipping,  // Swallowing a refused data block.
  kSending,   // Replies are waiting for the socket.
  kWatching,  // Receives a stream of events.
  kClosing,
};

class ConnectionTable;

// A connection's own line in the table.
class ConnectionEntry {
 public:
  ConnectionEntry() = default;
  ~ConnectionEntry();
  ConnectionEntry(const ConnectionEntry&) = delete;
  ConnectionEntry& operator=(const ConnectionEntry&) = delete;

  // Once. `descriptor` stays open until this object is gone.
  void Enter(ConnectionTable& table, std::uint64_t id, const PeerAddress& peer, int descriptor);
  void SetActivity(Activity activity) noexcept {
    activity_.store(activity, std::memory_order_relaxed);
  }
  // Monotonic seconds.
  void SetLastActive(std::uint32_t seconds) noexcept {
    last_active_seconds_.store(seconds, std::memory_order_relaxed);
  }
  std::uint64_t id() const noexcept { return id_; }
  const PeerAddress& peer() const noexcept { return peer_; }

 private:
  friend class ConnectionTable;
  ConnectionTable* table_ = nullptr;
  std::uint64_t id_ = 0;
  ConnectionEntry* previous_ = nullptr;
  ConnectionEntry* next_ = nullptr;
  PeerAddress peer_;
  int descriptor_ = -1;
  std::atomic<std::uint32_t> last_active_seconds_{0};
  std::atomic<Activity> activity_{Activity::kWaiting};
};

struct ConnectionListing {
  std::uint64_t id = 0;
  PeerAddress peer;
  std::string local_address;  // "127.0.0.1:11211", or the path of a Unix socket.
  Activity activity = Activity::kWaiting;
  std::uint32_t last_active_seconds = 0;
};

class ConnectionTable {
 public:
  // Ascending by id.
  std::vector<ConnectionListing> List() const;

 private:
  friend class ConnectionEntry;
  static constexpr std::size_t kShards = 16;
  struct Shard {
    mutable Mutex mutex;
    // Ascending by id.
    ConnectionEntry* first GUARDED_BY(mutex) = nullptr;
    ConnectionEntry* last GUARDED_BY(mutex) = nullptr;
  };

  void Add(ConnectionEntry& entry);
  void Remove(ConnectionEntry& entry);
  Shard& ShardOf(std::uint64_t id) noexcept { return shards_[id % kShards]; }

  std::array<Shard, kShards> shards_;
};

}  // namespace podcache::net
