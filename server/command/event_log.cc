#include "server/command/event_log.h"

#include <algorithm>
#include <chrono>
#include <cstring>

#include "server/protocol/verbs.h"

namespace podcache::command {

using protocol::LookupStatus;
using protocol::StoreOutcome;
using store::Presence;
using store::StoreStatus;

namespace {

LookupStatus StatusOf(Presence presence) noexcept {
  switch (presence) {
    case Presence::kLive:
      return LookupStatus::kFound;
    case Presence::kExpired:
      return LookupStatus::kExpired;
    case Presence::kFlushed:
      return LookupStatus::kFlushed;
    case Presence::kMissing:
      break;
  }
  return LookupStatus::kNotFound;
}

StoreOutcome OutcomeOf(StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kOk:
    case StoreStatus::kStored:
      return StoreOutcome::kStored;
    case StoreStatus::kExists:
      return StoreOutcome::kExists;
    case StoreStatus::kNotFound:
      return StoreOutcome::kNotFound;
    case StoreStatus::kTooLarge:
      return StoreOutcome::kTooLarge;
    case StoreStatus::kOutOfMemory:
      return StoreOutcome::kNoMemory;
    default:
      return StoreOutcome::kNotStored;
  }
}

std::string_view LineFrom(const char* start, const char* end) noexcept {
  return {start, static_cast<std::size_t>(end - start)};
}

bool Concatenates(protocol::Verb verb) noexcept {
  return verb == protocol::Verb::kAppend || verb == protocol::Verb::kPrepend;
}

}  // namespace

EventLog::EventLog(watch::WatchHub* hub, store::StoreSession& session, const Clock& clock)
    : hub_(hub), session_(session), clock_(clock) {
  if (hub_ != nullptr) buffer_ = hub_->NewBuffer();
}

protocol::WatchStamp EventLog::Stamp() noexcept {
  using std::chrono::microseconds;
  return {std::chrono::duration_cast<microseconds>(clock_.WallNow()).count(), hub_->NextGid()};
}

store::Glimpse EventLog::LookupWatched(const store::Key& key) noexcept {
  const store::Glimpse seen = session_.Peek(key);
  if (!watches(protocol::kFetchers)) return seen;
  const LookupStatus status = StatusOf(seen.presence);
  const std::uint64_t size = status == LookupStatus::kFound ? seen.value_bytes : 0;
  const protocol::WatchStamp stamp = Stamp();
  char line[protocol::kMaxWatchLineBytes];
  const char* const end = protocol::WriteItemGet(line, stamp, key.bytes, status, connection_, size);
  buffer_->Append(protocol::kFetchers, stamp.gid, LineFrom(line, end));
  return seen;
}

void EventLog::Deleted(const store::Key& key, std::string_view command,
                       const store::Glimpse& before) noexcept {
  if (!watches(protocol::kDeletions)) return;
  const protocol::WatchStamp stamp = Stamp();
  char line[protocol::kMaxWatchLineBytes];
  const char* const end =
      protocol::WriteDeleted(line, stamp, key.bytes, command, before.value_bytes);
  buffer_->Append(protocol::kDeletions, stamp.gid, LineFrom(line, end));
}

EventLog::PendingStore EventLog::BeforeStore(protocol::Verb verb,
                                             const store::WriteHandle& handle) noexcept {
  PendingStore pending;
  pending.verb = verb;
  const store::Key key = handle.key();
  std::memcpy(pending.key, key.bytes.data(), key.bytes.size());
  pending.key_bytes = key.bytes.size();
  pending.value_bytes = handle.value_bytes();
  pending.exptime = handle.exptime();
  pending.before = LookupWatched(key);
  return pending;
}

void EventLog::AfterStore(const PendingStore& pending, StoreStatus status) noexcept {
  const bool joined = Concatenates(pending.verb) && status == StoreStatus::kStored &&
                      pending.before.presence == Presence::kLive;
  Stored({pending.key, pending.key_bytes}, pending.verb, status,
         joined ? pending.before.exptime : pending.exptime,
         joined ? pending.before.value_bytes + pending.value_bytes : pending.value_bytes);
}

void EventLog::Stored(std::string_view key, protocol::Verb verb, StoreStatus status,
                      std::int64_t exptime, std::uint64_t value_bytes) noexcept {
  if (!watches(protocol::kMutations)) return;
  std::int64_t ttl = 0;
  if (exptime != store::kNeverExpires) {
    const std::int64_t left = exptime - clock_.WallSeconds();
    ttl = left > 0 ? left : -1;
  }
  const protocol::WatchStamp stamp = Stamp();
  char line[protocol::kMaxWatchLineBytes];
  const char* const end =
      protocol::WriteItemStore(line, stamp, key, OutcomeOf(status), protocol::StorageWord(verb),
                               ttl, connection_, value_bytes);
  buffer_->Append(protocol::kMutations, stamp.gid, LineFrom(line, end));
}

void EventLog::ConnectionOpened(const protocol::WatchedConnection& who) noexcept {
  if (!watches(protocol::kConnectionEvents)) return;
  const protocol::WatchStamp stamp = Stamp();
  char line[protocol::kMaxWatchLineBytes];
  const char* const end = protocol::WriteConnNew(line, stamp, who);
  buffer_->Append(protocol::kConnectionEvents, stamp.gid, LineFrom(line, end));
}

void EventLog::ConnectionClosed(const protocol::WatchedConnection& who,
                                protocol::ConnectionEnd reason) noexcept {
  if (!watches(protocol::kConnectionEvents)) return;
  const protocol::WatchStamp stamp = Stamp();
  char line[protocol::kMaxWatchLineBytes];
  const char* const end = protocol::WriteConnClose(line, stamp, who, reason);
  buffer_->Append(protocol::kConnectionEvents, stamp.gid, LineFrom(line, end));
}

}  // namespace podcache::command
