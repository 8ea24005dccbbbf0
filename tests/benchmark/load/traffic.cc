#include "tests/benchmark/load/traffic.h"

#include <array>
#include <span>
#include <utility>

namespace podcache::bench {

namespace {

constexpr std::size_t kReceiveBytes = 256U << 10;
constexpr std::size_t kMaxEvents = 256;
// So that Stop is seen soon when the server is silent.
constexpr int kWaitMs = 50;
constexpr int kMaxSilentWaits = 200;

void Bump(std::atomic<std::uint64_t>& cell, std::uint64_t n) noexcept {
  cell.store(cell.load(std::memory_order_relaxed) + n, std::memory_order_relaxed);
}

Totals CountsOf(const Batch& batch) {
  Totals totals;
  for (const RequestShape& request : batch.requests) {
    ++totals.requests;
    if (request.verb == Verb::kSet) {
      ++totals.sets;
    } else {
      totals.keys_asked += request.keys;
    }
  }
  return totals;
}

}  // namespace

Totals& Totals::operator+=(const Totals& other) noexcept {
  keys_asked += other.keys_asked;
  keys_found += other.keys_found;
  sets += other.sets;
  requests += other.requests;
  errors += other.errors;
  return *this;
}

Totals Totals::operator-(const Totals& other) const noexcept {
  return {keys_asked - other.keys_asked, keys_found - other.keys_found, sets - other.sets,
          requests - other.requests, errors - other.errors};
}

void Traffic::Add(const std::string& address, std::unique_ptr<RequestSource> source,
                  std::unique_ptr<ReplyReader> reader, bool paced) {
  links_.push_back(std::unique_ptr<Link>(
      new Link{ClientSocket(address), std::move(source), std::move(reader), paced}));
}

void Traffic::Run() {
  room_.resize(kReceiveBytes);
  for (const std::unique_ptr<Link>& link : links_) {
    epoll_.Add(link->socket.fd(), link.get());
    if (!link->paced) SendNext(*link);
  }
  std::array<epoll_event, kMaxEvents> events;
  int silent_waits = 0;
  while (busy_ > 0) {
    const std::span<const epoll_event> ready = epoll_.Wait(events, kWaitMs);
    silent_waits = ready.empty() ? silent_waits + 1 : 0;
    if (silent_waits > kMaxSilentWaits) throw Failure("the server has stopped answering");
    for (const epoll_event& event : ready) {
      Link& link = *static_cast<Link*>(event.data.ptr);
      if ((event.events & EPOLLOUT) != 0) OnWritable(link);
      if ((event.events & ~unsigned{EPOLLOUT}) != 0) OnReadable(link);
    }
    if (pace_ > 0) SendPaced();
  }
}

void Traffic::OnReadable(Link& link) {
  const std::size_t n = link.socket.Receive(room_);
  if (n == 0) return;
  const ReplyCounts counts = link.reader->Feed({room_.data(), n});
  Bump(keys_found_, counts.values);
  if (counts.errors > 0) Bump(errors_, counts.errors);
  if (counts.replies > link.outstanding) throw Failure("more replies than requests");
  link.outstanding -= counts.replies;
  if (counts.replies == 0 || link.outstanding > 0) return;
  Bump(keys_asked_, link.batch.keys_asked);
  Bump(sets_, link.batch.sets);
  Bump(requests_, link.batch.requests);
  --busy_;
  if (!link.paced) SendNext(link);
}

void Traffic::SendNext(Link& link) {
  Batch batch;
  if (stop_.load(std::memory_order_relaxed) || link.ended) return;
  if (!link.source->Next(batch)) {
    link.ended = true;
    return;
  }
  link.batch = CountsOf(batch);
  link.outstanding = batch.requests.size();
  link.reader->Expect(batch);
  ++busy_;
  const std::size_t sent = link.socket.Send(batch.bytes);
  if (sent == batch.bytes.size()) return;
  link.unsent.assign(batch.bytes.data() + sent, batch.bytes.size() - sent);
  epoll_.SetWritable(link.socket.fd(), &link, true);
}

void Traffic::SendPaced() {
  const std::uint64_t due = keys_asked_.load(std::memory_order_relaxed) * pace_ / 1000;
  for (const std::unique_ptr<Link>& link : links_) {
    if (paced_sent_ >= due) return;
    if (!link->paced || link->outstanding > 0) continue;
    SendNext(*link);
    paced_sent_ += link->batch.sets;
  }
}

void Traffic::OnWritable(Link& link) {
  link.unsent.erase(0, link.socket.Send(link.unsent));
  if (link.unsent.empty()) epoll_.SetWritable(link.socket.fd(), &link, false);
}

Totals Traffic::totals() const noexcept {
  const auto read = [](const Cell& cell) { return cell.load(std::memory_order_relaxed); };
  return {read(keys_asked_), read(keys_found_), read(sets_), read(requests_), read(errors_)};
}

std::string Traffic::complaint() const {
  for (const std::unique_ptr<Link>& link : links_) {
    if (!link->reader->complaint().empty()) return link->reader->complaint();
  }
  return {};
}

}  // namespace podcache::bench
