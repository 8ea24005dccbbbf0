// What a worker tells those who watch: look-ups, writes, deletions, connections.
//
// Nothing is gathered while nobody watches: every function then returns after one relaxed load.
// While somebody does, an item is looked at once more before the command runs, so a line may
// be a moment older than what the command saw.
//
// Threads: one worker's. Ownership: hub, session and clock outlive it. Source: protocol.md 7.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/clock.h"
#include "server/protocol/request.h"
#include "server/protocol/watch_lines.h"
#include "server/store/store.h"
#include "server/watch/watch_hub.h"

namespace podcache::command {

class EventLog {
 public:
  // Without a hub nothing is ever watched.
  EventLog(watch::WatchHub* hub, store::StoreSession& session, const Clock& clock);

  // Whose requests follow.
  void set_connection(std::uint64_t id) noexcept { connection_ = id; }
  bool watches(protocol::Streams streams) const noexcept {
    return hub_ != nullptr && (hub_->streams() & streams) != 0;
  }
  // Whether any command on a key has something to tell.
  bool watches_keys() const noexcept {
    return watches(protocol::kFetchers | protocol::kMutations | protocol::kDeletions);
  }

  // Before a command that uses the item. What it saw is for Deleted.
  store::Glimpse Lookup(const store::Key& key) noexcept {
    return watches_keys() ? LookupWatched(key) : store::Glimpse();
  }
  void Deleted(const store::Key& key, std::string_view command,
               const store::Glimpse& before) noexcept;

  // A write in two steps, because the handle is gone afterwards. Only while watches_keys().
  struct PendingStore {
    protocol::Verb verb = protocol::Verb::kSet;
    std::size_t key_bytes = 0;
    std::uint64_t value_bytes = 0;
    std::int64_t exptime = 0;
    store::Glimpse before;
    char key[store::kMaxKeyBytes];
  };
  PendingStore BeforeStore(protocol::Verb verb, const store::WriteHandle& handle) noexcept;
  void AfterStore(const PendingStore& pending, store::StoreStatus status) noexcept;
  // A write that was refused before there was a handle.
  void Stored(std::string_view key, protocol::Verb verb, store::StoreStatus status,
              std::int64_t exptime, std::uint64_t value_bytes) noexcept;

  void ConnectionOpened(const protocol::WatchedConnection& who) noexcept;
  void ConnectionClosed(const protocol::WatchedConnection& who,
                        protocol::ConnectionEnd reason) noexcept;

 private:
  store::Glimpse LookupWatched(const store::Key& key) noexcept;
  protocol::WatchStamp Stamp() noexcept;

  watch::WatchHub* const hub_;
  store::StoreSession& session_;
  const Clock& clock_;
  std::unique_ptr<watch::EventBuffer> buffer_;
  std::uint64_t connection_ = 0;
};

}  // namespace podcache::command
