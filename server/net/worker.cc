#include "server/net/worker.h"

#include <pthread.h>

#include <algorithm>
#include <system_error>
#include <utility>

namespace podcache::net {

namespace {
// The protocol's state of a connection, which `net` cannot measure.
constexpr std::size_t kHandlerBytes = 384;
// A reply buffer that one turn has made larger than this is given back.
constexpr std::size_t kMaxKeptReplyBytes = 1U << 20;
// Changes smaller than this wait for company: the account is shared by all workers.
constexpr std::int64_t kChargeStepBytes = 4096;

}  // namespace

std::uint32_t Worker::Seconds(std::chrono::nanoseconds time) noexcept {
  return static_cast<std::uint32_t>(std::chrono::duration_cast<std::chrono::seconds>(time).count());
}

Worker::Worker(std::unique_ptr<WorkerHandler> handler, const WorkerSettings& settings,
               const Clock& clock, ConnectionExchange& exchange)
    : settings_(settings), clock_(clock), exchange_(exchange), own_handler_(std::move(handler)) {}

Worker::~Worker() {
  if (!thread_.joinable()) return;
  Post(Stop{});
  thread_.join();
}

bool Worker::Start() {
  try {
    thread_ = std::thread([this] { Run(); });
  } catch (const std::system_error&) {
    return false;
  }
  return true;
}

void Worker::Join() { thread_.join(); }

void Worker::Post(Message message) {
  std::uint64_t arriving = 0;
  if (const auto* adoption = std::get_if<Adoption>(&message)) {
    arriving = adoption->group.connections.size();
  } else if (std::holds_alternative<NewConnection>(message) ||
             std::holds_alternative<Arrival>(message)) {
    arriving = 1;
  }
  stats_.connections.fetch_add(arriving);
  bool was_empty = false;
  {
    MutexLock lock(inbox_mutex_);
    was_empty = inbox_.empty();
    inbox_.push_back(std::move(message));
  }
  if (was_empty) wake_up_.Signal();
}

void Worker::Run() {
  pthread_setname_np(pthread_self(), "worker");  // as `top -H` and /proc show it
  // Made here so that its memory lies near the CPU that uses it.
  loop_ = std::make_unique<EventLoop>();
  receive_buffer_.reset(new char[settings_.receive_buffer_bytes]);
  wake_up_.Start(
      *loop_, [](void* self) { static_cast<Worker*>(self)->OnInbox(); }, this);
  if (settings_.idle_timeout.count() > 0) {
    idle_timer_.StartPeriodic(
        *loop_, settings_.idle_check_period,
        [](void* self) { static_cast<Worker*>(self)->KickIdle(); }, this);
  }
  while (!ended_) {
    loop_->RunTurn(waiting_.empty() && in_round_.empty());
    ServeQueue();
    EndTurn();
  }
  receive_buffer_.reset();
  reply_ = OutputBuffer();
  Charge(-static_cast<std::int64_t>(std::exchange(charged_buffer_bytes_, 0)));
  SettleCharges(0);
  idle_timer_.Stop();
  stream_timer_.Stop();
  lingering_.Clear();
  ReportLingering();
  wake_up_.Finish();
  loop_.reset();
}

void Worker::BeginTurn() {
  if (in_turn_) return;
  in_turn_ = true;
  turn_start_ = clock_.MonotonicNow();
}

void Worker::EndTurn() {
  if (own_handler_ != nullptr) own_handler_->EndTurn();
  for (const Adopted& adopted : adopted_) adopted.handler->EndTurn();
  ReportLingering();
  slices_ = 0;
  turn_bytes_ = 0;
  if (!std::exchange(in_turn_, false)) return;
  if (reply_.capacity_bytes() > kMaxKeptReplyBytes) reply_ = OutputBuffer();
  const std::size_t buffer_bytes = settings_.receive_buffer_bytes + reply_.capacity_bytes();
  if (buffer_bytes != charged_buffer_bytes_) {
    Charge(static_cast<std::int64_t>(buffer_bytes) -
           static_cast<std::int64_t>(std::exchange(charged_buffer_bytes_, buffer_bytes)));
  }
  SettleCharges(kChargeStepBytes);
  const auto busy = clock_.MonotonicNow() - turn_start_;
  stats_.AddTurn(static_cast<std::uint64_t>(busy.count()));
}

void Worker::ServeStreams() {
  BeginTurn();
  // A seat that goes takes itself out of the list.
  for (std::size_t i = streaming_.size(); i > 0; --i) {
    if (i > streaming_.size()) continue;
    Seat& seat = *streaming_[i - 1];
    TurnResources turn = Resources();
    seat.connection->OnStreamTick(turn);
    Review(seat);
  }
}

void Worker::OnReadable(void* context) {
  Seat& seat = *static_cast<Seat*>(context);
  seat.worker.BeginTurn();
  seat.connection->SetLastActive(Seconds(seat.worker.turn_start_));
  seat.worker.OnReady(seat, &Connection::OnReadable);
}

void Worker::OnWritable(void* context) {
  Seat& seat = *static_cast<Seat*>(context);
  seat.worker.OnReady(seat, &Connection::OnWritable);
}

// Sending is activity too: else a reader slower than the idle timeout would be closed as soon as it
// has all of its reply.
void Worker::OnReady(Seat& seat, Call call) {
  BeginTurn();
  NoteActivity(seat);
  if (MayServe(seat)) Serve(seat, call);
}

void Worker::OnInbox() {
  BeginTurn();
  std::vector<Message> messages;
  {
    MutexLock lock(inbox_mutex_);
    messages.swap(inbox_);
  }
  for (Message& message : messages) {
    std::visit([this](auto& content) { Handle(content); }, message);
  }
}

void Worker::Handle(NewConnection& message) {
  auto handler = own_handler_->NewConnection(message.info);
  Admit(std::make_unique<Connection>(std::move(message.transport), std::move(handler),
                                     *own_handler_, message.info, &exchange_.connection_table()));
}

void Worker::Handle(Arrival& message) {
  message.connection->set_worker(*own_handler_);
  own_handler_->CountHandoff();
  Admit(std::move(message.connection));
}

void Worker::Handle(Adoption& message) {
  HandlerGroup& group = message.group;
  adopted_.push_back(Adopted{std::move(group.handler), group.connections.size()});
  for (auto& connection : group.connections) {
    own_handler_->CountHandoff();
    Admit(std::move(connection));
  }
}

void Worker::Handle(Linger& message) { StartLingering(std::move(message.transport)); }

void Worker::Handle(ShareOut& message) {
  sharing_out_ = true;
  keep_ = message.keep;
  const std::uint64_t have = connections();
  if (have <= keep_) {
    sharing_out_ = false;
    return;
  }
  // Every n-th in the order of activity, so that busy and idle ones are shared alike; what could
  // not go in the first round (busy ones often can't) goes when it has come to rest.
  const std::uint64_t step = std::max<std::uint64_t>(have / (have - keep_), 1);
  std::uint64_t position = 0;
  for (Seat* seat = first_; seat != nullptr && sharing_out_;) {
    Seat* const next = seat->next;
    if (position++ % step == 0) TryPassOn(*seat);
    seat = next;
  }
}

void Worker::Handle(Leave&) {
  LeaveDatagrams();
  Departure departure;
  HandlerGroup own_group;
  std::vector<HandlerGroup> groups;
  for (Adopted& adopted : adopted_) groups.push_back(HandlerGroup{std::move(adopted.handler), {}});
  adopted_.clear();
  while (first_ != nullptr) {
    std::unique_ptr<Connection> connection = Vacate(*first_);
    if (connection->Settled()) {
      departure.settled.push_back(std::move(connection));
    } else if (&connection->worker() == own_handler_.get()) {
      own_group.connections.push_back(std::move(connection));
    } else {
      const auto group = std::find_if(groups.begin(), groups.end(), [&](const HandlerGroup& one) {
        return one.handler.get() == &connection->worker();
      });
      group->connections.push_back(std::move(connection));
    }
  }
  own_handler_->EndTurn();
  if (!own_group.connections.empty()) {
    own_group.handler = std::move(own_handler_);
    groups.push_back(std::move(own_group));
  }
  for (HandlerGroup& group : groups) {
    if (!group.connections.empty()) departure.groups.push_back(std::move(group));
  }
  departure.lingering = lingering_.TakeAll();
  exchange_.Disperse(std::move(departure));
  ended_ = true;
}

void Worker::Handle(Drain&) {
  draining_ = true;
  LeaveDatagrams();
  for (Seat* seat = first_; seat != nullptr;) {
    Seat* const next = seat->next;
    // What has come before now is still answered.
    TurnResources turn = Resources();
    seat->connection->OnReadable(turn);
    Review(*seat);
    seat = next;
  }
}

void Worker::Handle(Stop&) {
  LeaveDatagrams();
  while (first_ != nullptr) Close(*first_, CloseReason::kShutdown);
  ended_ = true;
}

void Worker::Admit(std::unique_ptr<Connection> connection) {
  if (ended_) {
    stats_.connections.fetch_sub(1);
    connection.reset();
    exchange_.OnConnectionClosed();
    return;
  }
  auto* const seat = new Seat(*this, std::move(connection));
  seat->last_active = turn_start_;
  seat->connection->SetLastActive(Seconds(turn_start_));
  LinkLast(*seat);
  Review(*seat);
}

void Worker::Review(Seat& seat) {
  Connection& connection = *seat.connection;
  if (!connection.closed() && &connection.worker() != own_handler_.get() && connection.Settled()) {
    Rehome(seat);
  }
  if (connection.closed()) return Close(seat);
  if (draining_ && connection.Idle()) return Close(seat, CloseReason::kShutdown);
  if (sharing_out_ && TryPassOn(seat)) return;
  if (connection.runnable()) Enqueue(seat);
  UpdateWatches(seat);
  if (seat.connection->closed()) return Close(seat);
  UpdateAccounts(seat);
  if (connection.streaming() != seat.streaming) UpdateStreaming(seat);
}

void Worker::UpdateStreaming(Seat& seat) {
  if (seat.streaming) return StopStreaming(seat);
  seat.streaming = true;
  streaming_.push_back(&seat);
  if (stream_timer_.active()) return;
  stream_timer_.StartPeriodic(
      *loop_, settings_.stream_period,
      [](void* self) { static_cast<Worker*>(self)->ServeStreams(); }, this);
}

void Worker::StopStreaming(Seat& seat) {
  seat.streaming = false;
  streaming_.erase(std::remove(streaming_.begin(), streaming_.end(), &seat), streaming_.end());
  if (streaming_.empty()) stream_timer_.Stop();
}

void Worker::UpdateWatches(Seat& seat) {
  const Connection& connection = *seat.connection;
  const auto update = [&](Watch& watch, bool wanted, auto start) {
    if (watch.active() == wanted) return true;
    if (wanted) return start();
    watch.Stop();
    return true;
  };
  // Who is in the queue will be called without being ready.
  const bool reads = update(seat.readable, connection.wants_read() && !seat.queued, [&] {
    return seat.readable.StartReadable(*loop_, connection.descriptor(), &Worker::OnReadable, &seat);
  });
  const bool writes = update(seat.writable, connection.wants_write() && !seat.queued, [&] {
    return seat.writable.StartWritable(*loop_, connection.descriptor(), &Worker::OnWritable, &seat);
  });
  // The kernel has no room left to watch it: a connection nobody wakes would hang for ever.
  if (!reads || !writes) seat.connection->Abort();
}

void Worker::UpdateAccounts(Seat& seat) {
  const Connection& connection = *seat.connection;
  const std::size_t bytes = sizeof(Seat) + kHandlerBytes + connection.footprint_bytes();
  if (bytes != seat.charged_bytes) {
    Charge(static_cast<std::int64_t>(bytes) - static_cast<std::int64_t>(seat.charged_bytes));
    seat.charged_bytes = bytes;
  }
  const auto follow = [](WorkerStats::Cell& count, WorkerStats::Cell& total, std::size_t& known,
                         std::size_t now) {
    if (known == now) return;
    WorkerStats::Add(count,
                     static_cast<std::uint64_t>(now > 0) - static_cast<std::uint64_t>(known > 0));
    WorkerStats::Add(total, now - known);
    known = now;
  };
  if (connection.tail_bytes() != seat.tail_bytes) {
    exchange_.AddTailBytes(static_cast<std::int64_t>(connection.tail_bytes()) -
                           static_cast<std::int64_t>(seat.tail_bytes));
  }
  follow(stats_.tails, stats_.tail_bytes, seat.tail_bytes, connection.tail_bytes());
  follow(stats_.outputs, stats_.output_bytes, seat.output_bytes, connection.output_bytes());
  if (connection.throttled() != seat.counted_throttled) {
    seat.counted_throttled = connection.throttled();
    WorkerStats::Add(stats_.throttled, seat.counted_throttled ? 1 : ~std::uint64_t{0});
  }
}

void Worker::Rehome(Seat& seat) {
  WorkerHandler& old = seat.connection->worker();
  seat.connection->set_worker(*own_handler_);
  ReleaseAdopted(old);
}

void Worker::ReleaseAdopted(WorkerHandler& handler) {
  const auto adopted = std::find_if(adopted_.begin(), adopted_.end(), [&](const Adopted& one) {
    return one.handler.get() == &handler;
  });
  if (adopted == adopted_.end() || --adopted->connections > 0) return;
  adopted->handler->EndTurn();
  adopted_.erase(adopted);
}

std::unique_ptr<Connection> Worker::Vacate(Seat& seat) {
  seat.readable.Stop();
  seat.writable.Stop();
  Unlink(seat);
  if (seat.queued) {
    const auto forget = [&](std::vector<Seat*>& queue) {
      queue.erase(std::remove(queue.begin(), queue.end(), &seat), queue.end());
    };
    forget(waiting_);
    forget(in_round_);
  }
  if (seat.streaming) StopStreaming(seat);
  if (seat.tail_bytes > 0) exchange_.AddTailBytes(-static_cast<std::int64_t>(seat.tail_bytes));
  Charge(-static_cast<std::int64_t>(seat.charged_bytes));
  WorkerStats::Add(stats_.tails,
                   std::uint64_t{0} - static_cast<std::uint64_t>(seat.tail_bytes > 0));
  WorkerStats::Add(stats_.tail_bytes, std::uint64_t{0} - seat.tail_bytes);
  WorkerStats::Add(stats_.outputs,
                   std::uint64_t{0} - static_cast<std::uint64_t>(seat.output_bytes > 0));
  WorkerStats::Add(stats_.output_bytes, std::uint64_t{0} - seat.output_bytes);
  if (seat.counted_throttled) WorkerStats::Add(stats_.throttled, ~std::uint64_t{0});
  stats_.connections.fetch_sub(1);
  std::unique_ptr<Connection> connection = std::move(seat.connection);
  delete &seat;
  return connection;
}

void Worker::Close(Seat& seat) { Close(seat, seat.connection->close_reason()); }

void Worker::Close(Seat& seat, CloseReason reason) {
  WorkerHandler& handler = seat.connection->worker();
  if (seat.connection->refused_tail()) WorkerStats::Add(stats_.refused_tails, 1);
  handler.ConnectionClosed(seat.connection->info(), reason);
  std::unique_ptr<Connection> connection = Vacate(seat);
  std::unique_ptr<Transport> lingering = connection->TakeLingering();
  connection.reset();
  ReleaseAdopted(handler);
  if (lingering != nullptr) StartLingering(std::move(lingering));
  exchange_.OnConnectionClosed();
}

void Worker::StartLingering(std::unique_ptr<Transport> transport) {
  lingering_.Add(*loop_, clock_, settings_.linger, std::move(transport));
  ReportLingering();
}

void Worker::ReportLingering() noexcept {
  const std::size_t now = lingering_.size();
  if (now == reported_lingering_) return;
  exchange_.AddLingering(static_cast<std::int64_t>(now) -
                         static_cast<std::int64_t>(std::exchange(reported_lingering_, now)));
}

bool Worker::TryPassOn(Seat& seat) {
  const std::uint64_t have = connections();
  if (have <= keep_) {
    sharing_out_ = false;
    return false;
  }
  if (!seat.connection->Settled()) return false;
  std::unique_ptr<Connection> back = exchange_.PassOn(Vacate(seat), have - 1);
  if (back == nullptr) return true;
  // Nobody has less to do.
  sharing_out_ = false;
  stats_.connections.fetch_add(1);
  Admit(std::move(back));
  return true;
}

void Worker::KickIdle() {
  BeginTurn();
  for (Seat* seat = first_; seat != nullptr;) {
    if (turn_start_ - seat->last_active < settings_.idle_timeout) return;
    Seat* const next = seat->next;
    // A slow reader is not idle, and a watcher has nothing to say.
    if (seat->connection->output_bytes() == 0 && !seat->streaming) {
      WorkerStats::Add(stats_.idle_kicks, 1);
      Close(*seat, CloseReason::kIdleTimeout);
    }
    seat = next;
  }
}

void Worker::NoteActivity(Seat& seat) {
  seat.last_active = turn_start_;
  if (seat.next == nullptr) return;
  Unlink(seat);
  LinkLast(seat);
}

void Worker::LinkLast(Seat& seat) {
  seat.previous = last_;
  seat.next = nullptr;
  (last_ == nullptr ? first_ : last_->next) = &seat;
  last_ = &seat;
}

void Worker::Unlink(Seat& seat) {
  (seat.previous == nullptr ? first_ : seat.previous->next) = seat.next;
  (seat.next == nullptr ? last_ : seat.next->previous) = seat.previous;
}

void Worker::SettleCharges(std::int64_t threshold_bytes) {
  if (uncharged_bytes_ == 0) return;
  if (uncharged_bytes_ < threshold_bytes && uncharged_bytes_ > -threshold_bytes) return;
  settings_.charge_memory(std::exchange(uncharged_bytes_, 0));
}

TurnResources Worker::Resources() {
  const bool tails_full =
      settings_.tail_limit_bytes != 0 && exchange_.AddTailBytes(0) >= settings_.tail_limit_bytes;
  return TurnResources{{receive_buffer_.get(), settings_.receive_buffer_bytes},
                       reply_,
                       settings_.watermarks,
                       tails_full,
                       settings_.tails_full_text};
}

}  // namespace podcache::net
