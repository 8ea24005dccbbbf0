#include "tests/benchmark/load/open_loop.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "tests/benchmark/load/epoll.h"

namespace podcache::bench {

using std::chrono::nanoseconds;

namespace {
constexpr std::size_t kReceiveBytes = 256U << 10;
constexpr std::size_t kMaxEvents = 256;
// How long replies are waited for after the last request.
constexpr std::chrono::seconds kPatience{10};
// Of one connection that the server does not read: beyond, the rate is far above what it can do.
constexpr std::size_t kMaxUnsentBytes = 64U << 20;
}  // namespace

ArrivalSchedule::ArrivalSchedule(double per_second, nanoseconds start, std::uint64_t seed)
    : mean_gap_ns_(1e9 / per_second), start_(start), due_(start), random_(seed) {}

void ArrivalSchedule::Advance() noexcept {
  offset_ns_ -= mean_gap_ns_ * std::log(1 - random_.Unit());
  due_ = start_ + nanoseconds(static_cast<std::int64_t>(offset_ns_));
}

void LatencyLedger::Answered(std::uint64_t replies, nanoseconds now, nanoseconds measure_from,
                             Histogram& histogram) {
  outstanding_ -= replies;
  while (replies > 0) {
    Waiting& first = waiting_.front();
    const std::uint64_t n = std::min(replies, first.replies);
    if (first.due >= measure_from)
      histogram.Record(static_cast<std::uint64_t>(std::max((now - first.due).count(), 0L)), n);
    replies -= n;
    first.replies -= n;
    if (first.replies == 0) waiting_.pop_front();
  }
}

void OpenLoop::Add(const std::string& address, std::unique_ptr<RequestSource> source,
                   std::unique_ptr<ReplyReader> reader) {
  links_.push_back(
      std::unique_ptr<Link>(new Link{ClientSocket(address), std::move(source), std::move(reader)}));
}

OpenLoopResult OpenLoop::Run(const OpenLoopPlan& plan) {
  Epoll epoll;
  for (const std::unique_ptr<Link>& link : links_) epoll.Add(link->socket.fd(), link.get());
  room_.resize(kReceiveBytes);
  OpenLoopResult result;
  const nanoseconds start = clock_.MonotonicNow();
  measure_from_ = start + plan.warm_up;
  const nanoseconds end = measure_from_ + plan.duration;
  ArrivalSchedule schedule(plan.batches_per_second, start, plan.seed);
  std::size_t turn = 0;
  std::array<epoll_event, kMaxEvents> events;
  while (true) {
    const nanoseconds now = clock_.MonotonicNow();
    for (; schedule.due() <= now && schedule.due() < end; schedule.Advance())
      SendDue(*links_[turn++ % links_.size()], schedule.due());
    if (schedule.due() >= end && outstanding() == 0) break;
    if (now > end + kPatience) break;
    FlushUnsent();
    // Never sleeps: waking up would take longer than many a reply.
    for (const epoll_event& event : epoll.Wait(events, 0)) {
      Link& link = *static_cast<Link*>(event.data.ptr);
      Receive(link, result);
    }
  }
  result.unanswered = outstanding();
  for (const std::unique_ptr<Link>& link : links_) {
    if (result.complaint.empty()) result.complaint = link->reader->complaint();
  }
  return result;
}

void OpenLoop::SendDue(Link& link, nanoseconds due) {
  Batch batch;
  link.source->Next(batch);
  link.reader->Expect(batch);
  link.ledger.Sent(due, batch.requests.size());
  std::size_t sent = 0;
  if (link.unsent.empty()) sent = link.socket.Send(batch.bytes);
  if (sent == batch.bytes.size()) return;
  if (link.unsent.empty()) blocked_.push_back(&link);
  link.unsent.append(batch.bytes.data() + sent, batch.bytes.size() - sent);
  if (link.unsent.size() > kMaxUnsentBytes)
    throw Failure("the rate is far above what the server can do");
}

void OpenLoop::FlushUnsent() {
  std::erase_if(blocked_, [](Link* link) {
    link->unsent.erase(0, link->socket.Send(link->unsent));
    return link->unsent.empty();
  });
}

void OpenLoop::Receive(Link& link, OpenLoopResult& result) {
  const std::size_t n = link.socket.Receive(room_);
  if (n == 0) return;
  const ReplyCounts counts = link.reader->Feed({room_.data(), n});
  result.errors += counts.errors;
  if (counts.replies > link.ledger.outstanding()) throw Failure("more replies than requests");
  link.ledger.Answered(counts.replies, clock_.MonotonicNow(), measure_from_, result.latency);
}

std::uint64_t OpenLoop::outstanding() const noexcept {
  std::uint64_t sum = 0;
  for (const std::unique_ptr<Link>& link : links_) sum += link->ledger.outstanding();
  return sum;
}

}  // namespace podcache::bench
