#include "server/watch/watch_hub.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace podcache::watch {

namespace {

// In front of each line in a producer's buffer.
struct LineHeader {
  std::uint64_t gid;
  protocol::Streams stream;
  std::uint32_t bytes;
};

}  // namespace

EventBuffer::~EventBuffer() { hub_.Remove(*this); }

void EventBuffer::Append(protocol::Streams stream, std::uint64_t gid,
                         std::string_view line) noexcept {
  const std::size_t limit = hub_.settings_.producer_bytes;
  const LineHeader header{gid, stream, static_cast<std::uint32_t>(line.size())};
  std::size_t used = 0;
  {
    MutexLock lock(mutex_);
    if (bytes_.size() + sizeof(header) + line.size() > limit) {
      hub_.dropped_.fetch_add(1, std::memory_order_relaxed);
      return;
    }
    if (bytes_.capacity() < limit) bytes_.reserve(limit);
    bytes_.append(reinterpret_cast<const char*>(&header), sizeof(header));
    bytes_.append(line);
    used = bytes_.size();
  }
  hub_.produced_.fetch_add(1, std::memory_order_relaxed);
  if (used > limit / 2) hub_.TryCollect();
}

Watcher::~Watcher() { hub_.Remove(*this); }

void Watcher::Take(OutputBuffer& output) { hub_.Take(*this, output); }

std::unique_ptr<EventBuffer> WatchHub::NewBuffer() {
  std::unique_ptr<EventBuffer> buffer(new EventBuffer(*this));
  MutexLock lock(mutex_);
  buffers_.push_back(buffer.get());
  UpdateLocked();
  return buffer;
}

std::unique_ptr<Watcher> WatchHub::Watch(protocol::Streams streams) {
  MutexLock lock(mutex_);
  if (watchers_.size() == kMaxWatchers) return nullptr;
  // Left from before nobody watched any more.
  if (watchers_.empty()) CollectLocked();
  std::unique_ptr<Watcher> watcher(new Watcher(*this, streams, last_gid_.load() + 1));
  watcher->text_.reserve(settings_.watcher_bytes);
  watchers_.push_back(watcher.get());
  UpdateLocked();
  return watcher;
}

void WatchHub::Remove(EventBuffer& buffer) {
  MutexLock lock(mutex_);
  CollectLocked();  // Its last lines.
  std::erase(buffers_, &buffer);
  UpdateLocked();
}

void WatchHub::Remove(Watcher& watcher) {
  MutexLock lock(mutex_);
  std::erase(watchers_, &watcher);
  UpdateLocked();
}

void WatchHub::UpdateLocked() {
  protocol::Streams streams = 0;
  for (const Watcher* watcher : watchers_) streams |= watcher->streams_;
  streams_.store(streams, std::memory_order_relaxed);
  if (watchers_.empty()) {
    collected_.clear();
    collected_.shrink_to_fit();
    events_.clear();
    events_.shrink_to_fit();
    for (EventBuffer* buffer : buffers_) {
      MutexLock lock(buffer->mutex_);
      std::string().swap(buffer->bytes_);
    }
  }
  // Each producer's buffer, and the one it is exchanged with.
  const std::size_t producers = watchers_.empty() ? 0 : 2 * buffers_.size();
  const auto bytes = static_cast<std::int64_t>(producers * settings_.producer_bytes +
                                               watchers_.size() * settings_.watcher_bytes);
  const std::int64_t delta = bytes - std::exchange(charged_bytes_, bytes);
  if (delta != 0) settings_.charge_memory(delta);
}

void WatchHub::Take(Watcher& watcher, OutputBuffer& output) {
  MutexLock lock(mutex_);
  // Whether this one can send or not: the others wait for these lines, too.
  CollectLocked();
  if (!output.empty()) return;
  output.Append(watcher.text_);
  watcher.text_.clear();
}

void WatchHub::TryCollect() noexcept {
  if (!mutex_.TryLock()) return;
  CollectLocked();
  mutex_.Unlock();
}

void WatchHub::CollectLocked() {
  collected_.resize(buffers_.size());
  events_.clear();
  for (std::size_t i = 0; i < buffers_.size(); ++i) {
    collected_[i].clear();
    {
      MutexLock lock(buffers_[i]->mutex_);
      if (buffers_[i]->bytes_.empty()) continue;
      collected_[i].swap(buffers_[i]->bytes_);
    }
    const std::string& bytes = collected_[i];
    LineHeader header;
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(header) + header.bytes) {
      std::memcpy(&header, bytes.data() + at, sizeof(header));
      events_.push_back({header.gid, header.stream,
                         std::string_view(bytes).substr(at + sizeof(header), header.bytes)});
    }
  }
  std::ranges::sort(events_, {}, &Event::gid);
  for (const Event& event : events_) {
    for (Watcher* watcher : watchers_) {
      if ((watcher->streams_ & event.stream) == 0 || event.gid < watcher->first_gid_) continue;
      DeliverLocked(*watcher, event.line);
    }
  }
}

void WatchHub::DeliverLocked(Watcher& watcher, std::string_view line) {
  std::string& text = watcher.text_;
  const std::size_t needed = line.size() + (watcher.skipped_ > 0 ? protocol::kMaxSkippedBytes : 0);
  if (text.size() + needed > settings_.watcher_bytes) {
    ++watcher.skipped_;
    ++skipped_;
    return;
  }
  if (watcher.skipped_ > 0) {
    char skipped[protocol::kMaxSkippedBytes];
    const char* const end = protocol::WriteSkipped(skipped, std::exchange(watcher.skipped_, 0));
    text.append(skipped, static_cast<std::size_t>(end - skipped));
  }
  text.append(line);
  ++sent_;
}

WatchStats WatchHub::stats() const {
  WatchStats stats;
  stats.produced = produced_.load(std::memory_order_relaxed);
  stats.dropped = dropped_.load(std::memory_order_relaxed);
  MutexLock lock(mutex_);
  stats.watchers = watchers_.size();
  stats.sent = sent_;
  stats.skipped = skipped_;
  return stats;
}

}  // namespace podcache::watch
