#include "server/worker_session.h"

#include <atomic>
#include <string>
#include <string_view>
#include <utility>

#include "server/auth_session.h"
#include "server/datagram_session.h"
#include "server/negotiating_session.h"

namespace podcache {

using metrics::CommandClass;
using metrics::Counter;
using metrics::WorkerCounters;

namespace {
// When the operator of the server does not say (-R): many small requests, still well below a
// millisecond.
constexpr std::uint32_t kDefaultRequestsPerTurn = 500;

std::string_view TransportOf(const net::PeerAddress& peer) noexcept {
  return peer.is_unix() ? "local" : "tcp";
}

protocol::ConnectionEnd EndOf(net::CloseReason reason) noexcept {
  switch (reason) {
    case net::CloseReason::kNormal:
      return protocol::ConnectionEnd::kNormal;
    case net::CloseReason::kIdleTimeout:
      return protocol::ConnectionEnd::kIdleTimeout;
    case net::CloseReason::kShutdown:
      return protocol::ConnectionEnd::kShutdown;
    case net::CloseReason::kError:
      break;
  }
  return protocol::ConnectionEnd::kError;
}
}  // namespace

WorkerSession::WorkerSession(store::Store& store, metrics::CounterRegistry& registry,
                             command::AdminCommand& admin, const Clock& clock,
                             const command::CommandOptions& options,
                             const SessionFeatures& features)
    : registry_(registry),
      counters_(registry.Acquire()),
      clock_(clock),
      requests_per_turn_(options.requests_per_turn != 0 ? options.requests_per_turn
                                                        : kDefaultRequestsPerTurn),
      authenticator_(features.authenticator),
      watch_(options.watch_enabled ? features.watch : nullptr),
      session_(store.NewSession(counters_)),
      events_(watch_, *session_, clock),
      executor_(*session_, counters_, admin, events_, clock),
      gets_(*session_, counters_, events_, admin.prefixes()),
      sets_(*session_, counters_, events_, admin.prefixes(), executor_),
      binary_executor_(*session_, counters_, admin, events_, executor_),
      binary_gets_(*session_, counters_, events_, admin.prefixes()),
      meta_(*session_, counters_, events_, executor_),
      meta_gets_(*session_, counters_, events_, executor_),
      commands_before_(counters_.commands.load(std::memory_order_relaxed)) {}

WorkerSession::~WorkerSession() {
  session_.reset();
  registry_.Release(counters_);
}

std::unique_ptr<net::ConnectionHandler> WorkerSession::NewConnection(
    const net::ConnectionInfo& info) {
  if (events_.watches(protocol::kConnectionEvents)) {
    const std::string ip = info.peer.Ip();
    events_.ConnectionOpened({ip, info.peer.port, TransportOf(info.peer), info.id});
  }
  if (authenticator_ != nullptr) return std::make_unique<AuthSession>(*authenticator_);
  return NewSession(static_cast<WireProtocol>(info.socket_tag));
}

void WorkerSession::OnDatagram(std::uint8_t socket_tag, std::span<const char> requests,
                               std::size_t max_reply_bytes, OutputBuffer& output) {
  AnswerDatagram(*this, static_cast<WireProtocol>(socket_tag), requests, max_reply_bytes, output);
}

void WorkerSession::ConnectionClosed(const net::ConnectionInfo& info,
                                     net::CloseReason reason) noexcept {
  if (!events_.watches(protocol::kConnectionEvents)) return;
  const std::string ip = info.peer.Ip();
  events_.ConnectionClosed({ip, info.peer.port, TransportOf(info.peer), info.id}, EndOf(reason));
}

void WorkerSession::StartBatch() noexcept {
  events_.set_connection(active_connection());
  executor_.StartBatch();
  if (in_turn_) return;
  in_turn_ = true;
  turn_start_ = batch_start_ = clock_.MonotonicNow();
}

void WorkerSession::EndBatch(Counter protocol) noexcept {
  const std::chrono::nanoseconds now = clock_.MonotonicNow();
  const auto duration_ns = static_cast<std::uint64_t>((now - batch_start_).count());
  batch_start_ = now;
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == 0) continue;
    total += requests_[i];
    counters_.AddDuration(static_cast<CommandClass>(i), duration_ns, requests_[i]);
    requests_[i] = 0;
  }
  if (total == 0) return;
  WorkerCounters::Bump(counters_.commands, total);
  counters_.Add(protocol, total - meta_requests_);
  if (meta_requests_ != 0) counters_.Add(Counter::kMetaCommands, std::exchange(meta_requests_, 0));
}

void WorkerSession::EndTurn() noexcept {
  session_->EndTurn();
  if (!in_turn_) return;
  in_turn_ = false;
  WorkerCounters::Bump(counters_.busy_ns,
                       static_cast<std::uint64_t>((batch_start_ - turn_start_).count()));
}

void WorkerSession::CountBytes(std::uint64_t received, std::uint64_t sent) noexcept {
  counters_.Add(Counter::kBytesRead, received);
  counters_.Add(Counter::kBytesWritten, sent);
}

void WorkerSession::CountYield() noexcept { counters_.Add(Counter::kConnYields); }

void WorkerSession::CountHandoff() noexcept { counters_.Add(Counter::kConnectionHandoffs); }

std::uint64_t WorkerSession::commands() const noexcept {
  return counters_.commands.load(std::memory_order_relaxed) - commands_before_;
}

}  // namespace podcache
