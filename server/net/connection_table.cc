#include "server/net/connection_table.h"

#include <sys/un.h>

#include <algorithm>
#include <cstring>

#include "server/net/socket_address.h"

namespace podcache::net {

namespace {

std::string LocalAddress(int descriptor) {
  SocketAddress address;
  address.length = sizeof(address.storage);
  auto* const raw = reinterpret_cast<sockaddr*>(&address.storage);
  if (::getsockname(descriptor, raw, &address.length) != 0) return "";
  if (address.family() != AF_UNIX) return address.ToString();
  sockaddr_un un{};
  std::memcpy(&un, &address.storage, std::min<std::size_t>(address.length, sizeof(un)));
  return {un.sun_path, ::strnlen(un.sun_path, sizeof(un.sun_path))};
}

}  // namespace

ConnectionEntry::~ConnectionEntry() {
  if (table_ != nullptr) table_->Remove(*this);
}

void ConnectionEntry::Enter(ConnectionTable& table, std::uint64_t id, const PeerAddress& peer,
                            int descriptor) {
  table_ = &table;
  id_ = id;
  peer_ = peer;
  descriptor_ = descriptor;
  table.Add(*this);
}

void ConnectionTable::Add(ConnectionEntry& entry) {
  Shard& shard = ShardOf(entry.id_);
  MutexLock lock(shard.mutex);
  // Workers enter what they were given at nearly the same time: a few places from the end at most.
  ConnectionEntry* before = shard.last;
  while (before != nullptr && before->id_ > entry.id_) before = before->previous_;
  ConnectionEntry* const after = before == nullptr ? shard.first : before->next_;
  entry.previous_ = before;
  entry.next_ = after;
  (before == nullptr ? shard.first : before->next_) = &entry;
  (after == nullptr ? shard.last : after->previous_) = &entry;
}

void ConnectionTable::Remove(ConnectionEntry& entry) {
  Shard& shard = ShardOf(entry.id_);
  MutexLock lock(shard.mutex);
  (entry.previous_ == nullptr ? shard.first : entry.previous_->next_) = entry.next_;
  (entry.next_ == nullptr ? shard.last : entry.next_->previous_) = entry.previous_;
}

std::vector<ConnectionListing> ConnectionTable::List() const {
  std::vector<ConnectionListing> list;
  for (const Shard& shard : shards_) {
    MutexLock lock(shard.mutex);
    for (const ConnectionEntry* entry = shard.first; entry != nullptr; entry = entry->next_) {
      list.push_back({entry->id_, entry->peer_, LocalAddress(entry->descriptor_),
                      entry->activity_.load(std::memory_order_relaxed),
                      entry->last_active_seconds_.load(std::memory_order_relaxed)});
    }
  }
  std::ranges::sort(list, {}, &ConnectionListing::id);
  return list;
}

}  // namespace podcache::net
