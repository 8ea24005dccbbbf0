#include "server/net/lingering_closes.h"

#include <utility>

namespace podcache::net {

namespace {

// Of what is thrown away when a socket becomes readable; then the others have their turn.
constexpr std::size_t kBytesPerRead = 16U << 10;
constexpr int kReadsPerTurn = 16;

}  // namespace

void LingeringCloses::Add(EventLoop& loop, const Clock& clock, const LingerSettings& settings,
                          std::unique_ptr<Transport> transport) {
  if (size_ >= settings.connections) return transport->EndSending();
  auto* const entry = new Entry{*this, std::move(transport), {}, {}, {}, {}, {}};
  entry->deadline = clock.MonotonicNow() + settings.time;
  entry->bytes_left = settings.bytes;
  entry->previous = last_;
  (last_ == nullptr ? first_ : last_->next) = entry;
  last_ = entry;
  ++size_;
  entry->transport->EndSending();
  const int fd = entry->transport->descriptor();
  if (!entry->readable.StartReadable(loop, fd, &LingeringCloses::OnReadable, entry)) {
    return Close(*entry);
  }
  clock_ = &clock;
  if (timer_.active()) return;
  timer_.StartPeriodic(
      loop, settings.check_period,
      [](void* self) { static_cast<LingeringCloses*>(self)->CloseLate(); }, this);
}

void LingeringCloses::Clear() noexcept {
  while (first_ != nullptr) Close(*first_);
}

std::vector<std::unique_ptr<Transport>> LingeringCloses::TakeAll() {
  std::vector<std::unique_ptr<Transport>> transports;
  for (; first_ != nullptr; Close(*first_)) {
    // Its watch goes before it may be used by another thread.
    first_->readable.Stop();
    transports.push_back(std::move(first_->transport));
  }
  return transports;
}

void LingeringCloses::OnReadable(void* context) {
  Entry& entry = *static_cast<Entry*>(context);
  char discarded[kBytesPerRead];
  for (int i = 0; i < kReadsPerTurn; ++i) {
    iovec piece{discarded, sizeof discarded};
    const IoResult received = entry.transport->Receive(&piece, 1);
    if (received.status == IoStatus::kWouldBlock) return;
    if (received.status != IoStatus::kOk || received.bytes >= entry.bytes_left) {
      return entry.owner.Close(entry);
    }
    entry.bytes_left -= received.bytes;
  }
}

void LingeringCloses::CloseLate() {
  const std::chrono::nanoseconds now = clock_->MonotonicNow();
  while (first_ != nullptr && first_->deadline <= now) Close(*first_);
}

void LingeringCloses::Close(Entry& entry) noexcept {
  (entry.previous == nullptr ? first_ : entry.previous->next) = entry.next;
  (entry.next == nullptr ? last_ : entry.next->previous) = entry.previous;
  --size_;
  entry.readable.Stop();
  delete &entry;
  if (first_ == nullptr) timer_.Stop();
}

}  // namespace podcache::net
