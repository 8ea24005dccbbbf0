#include "server/net/worker_pool.h"

#include <algorithm>
#include <utility>

#include "common/base/check.h"

namespace podcache::net {

WorkerPool::WorkerPool(RequestHandlerFactory& factory, const Clock& clock,
                       const PoolSettings& settings)
    : factory_(factory), clock_(clock), settings_(settings) {}

WorkerPool::~WorkerPool() { Stop(std::chrono::nanoseconds(0)); }

bool WorkerPool::SetThreads(std::uint32_t count) {
  if (count == 0 || count > kMaxThreads) return false;
  MutexLock resize_lock(resize_mutex_);
  std::size_t have = 0;
  {
    MutexLock lock(mutex_);
    if (stopped_) return false;
    have = workers_.size();
  }
  target_.store(count);
  if (count > have) return AddWorkers(count - static_cast<std::uint32_t>(have));
  RemoveWorkers(static_cast<std::uint32_t>(have) - count);
  return true;
}

bool WorkerPool::AddWorkers(std::uint32_t count) {
  bool complete = true;
  bool grown = false;
  for (std::uint32_t i = 0; i < count && complete; ++i) {
    ConnectionExchange& exchange = *this;
    auto worker =
        std::make_unique<Worker>(factory_.NewWorker(), settings_.worker, clock_, exchange);
    complete = worker->Start();
    if (!complete) break;
    grown = true;
    MutexLock lock(mutex_);
    GiveDatagramsLocked(*worker);
    workers_.push_back(std::move(worker));
    running_.store(static_cast<std::uint32_t>(workers_.size()));
  }
  MutexLock lock(mutex_);
  if (!complete) target_.store(static_cast<std::uint32_t>(workers_.size()));
  if (!grown) return complete;
  std::uint64_t total = 0;
  for (const auto& worker : workers_) total += worker->connections();
  const std::uint64_t share = (total + workers_.size() - 1) / workers_.size();
  for (const auto& worker : workers_) {
    if (worker->connections() > share) worker->Post(Worker::ShareOut{share});
  }
  return complete;
}

// All at once: so each connection is moved once, to one that stays, and the time is that of one
// worker.
void WorkerPool::RemoveWorkers(std::uint32_t count) {
  std::vector<Worker*> leaving;
  {
    MutexLock lock(mutex_);
    leaving = TakeOutLocked(count);
  }
  for (Worker* worker : leaving) worker->Post(Worker::Leave{});
  AwaitEnd(leaving);
}

std::vector<Worker*> WorkerPool::TakeOutLocked(std::size_t count) {
  std::vector<Worker*> leaving;
  for (; count > 0; --count) {
    leaving.push_back(workers_.back().get());
    leaving_.push_back(std::move(workers_.back()));
    workers_.pop_back();
  }
  return leaving;
}

void WorkerPool::AwaitEnd(const std::vector<Worker*>& leaving) {
  for (Worker* worker : leaving) {
    worker->Join();
    std::unique_ptr<Worker> ended;  // Destroyed without the lock.
    MutexLock lock(mutex_);
    RememberLocked(*worker);
    ended = std::move(leaving_.front());
    leaving_.pop_front();
    running_.fetch_sub(1);
  }
}

void WorkerPool::RememberLocked(const Worker& worker) {
  worker.stats().AddTo(past_turns_);
  past_idle_kicks_ += worker.stats().idle_kicks.load();
  past_refused_tails_ += worker.stats().refused_tails.load();
}

Worker& WorkerPool::LeastLoadedLocked() {
  const auto least = std::min_element(
      workers_.begin(), workers_.end(),
      [](const auto& a, const auto& b) { return a->connections() < b->connections(); });
  return **least;
}

bool WorkerPool::Admit(std::unique_ptr<Transport>& transport, const PeerAddress& peer,
                       std::uint8_t socket_tag) {
  MutexLock lock(mutex_);
  if (stopped_ || workers_.empty() || !HasRoom()) {
    rejected_.fetch_add(1);
    return false;
  }
  open_.fetch_add(1);
  admitted_.fetch_add(1);
  LeastLoadedLocked().Post(
      Worker::NewConnection{std::move(transport), ConnectionInfo{NewId(), peer, socket_tag}});
  return true;
}

void WorkerPool::ServeDatagrams(std::vector<ListenSocket> sockets) {
  MutexLock lock(mutex_);
  for (ListenSocket& socket : sockets) {
    datagram_ports_.push_back(std::make_unique<DatagramPort>(std::move(socket), NewId()));
  }
  for (const auto& worker : workers_) GiveDatagramsLocked(*worker);
}

void WorkerPool::GiveDatagramsLocked(Worker& worker) {
  if (datagram_ports_.empty()) return;
  Worker::ServeDatagrams message;
  for (const auto& port : datagram_ports_) message.ports.push_back(port.get());
  worker.Post(std::move(message));
}

std::vector<ConnectionListing> WorkerPool::ListDatagramPorts() const {
  MutexLock lock(mutex_);
  std::vector<ConnectionListing> listings;
  for (const auto& port : datagram_ports_) {
    ConnectionListing& listing = listings.emplace_back();
    listing.id = port->id;
    listing.peer = PeerAddress::From(port->socket.address.storage);
    listing.local_address = port->socket.address.ToString();
    listing.last_active_seconds = port->last_active_seconds.load(std::memory_order_relaxed);
  }
  return listings;
}

std::unique_ptr<Connection> WorkerPool::PassOn(std::unique_ptr<Connection> connection,
                                               std::uint64_t below) {
  MutexLock lock(mutex_);
  if (stopped_ || workers_.empty()) return connection;
  Worker& target = LeastLoadedLocked();
  if (target.connections() >= below) return connection;
  target.Post(Worker::Arrival{std::move(connection)});
  return nullptr;
}

void WorkerPool::Disperse(Departure departure) {
  MutexLock lock(mutex_);
  // A worker leaves only while another one stays.
  PODCACHE_CHECK(!workers_.empty());
  for (HandlerGroup& group : departure.groups) {
    LeastLoadedLocked().Post(Worker::Adoption{std::move(group)});
  }
  for (auto& connection : departure.settled) {
    LeastLoadedLocked().Post(Worker::Arrival{std::move(connection)});
  }
  for (auto& transport : departure.lingering) {
    LeastLoadedLocked().Post(Worker::Linger{std::move(transport)});
  }
}

void WorkerPool::OnConnectionClosed() noexcept {
  if (open_.fetch_sub(1) == 1) TellAllClosed();
}

void WorkerPool::AddLingering(std::int64_t delta) noexcept {
  const auto change = static_cast<std::uint64_t>(delta);
  if (lingering_.fetch_add(change) + change == 0) TellAllClosed();
}

void WorkerPool::TellAllClosed() noexcept {
  if (!draining_.load() || open_.load() + lingering_.load() > 0) return;
  MutexLock lock(mutex_);
  all_closed_.NotifyAll();
}

void WorkerPool::Stop(std::chrono::nanoseconds drain_time) {
  MutexLock resize_lock(resize_mutex_);
  std::vector<Worker*> workers;
  {
    MutexLock lock(mutex_);
    if (stopped_) return;
    stopped_ = true;
    draining_.store(true);
    if (drain_time.count() > 0) {
      for (const auto& worker : workers_) worker->Post(Worker::Drain{});
      const auto deadline = std::chrono::steady_clock::now() + drain_time;
      while (open_.load() + lingering_.load() > 0) {
        const auto left = deadline - std::chrono::steady_clock::now();
        if (left.count() <= 0) break;
        all_closed_.WaitFor(mutex_, left);
      }
    }
    workers = TakeOutLocked(workers_.size());
  }
  for (Worker* worker : workers) worker->Post(Worker::Stop{});
  AwaitEnd(workers);
  MutexLock lock(mutex_);
  datagram_ports_.clear();
}

PoolReport WorkerPool::Report() const {
  PoolReport report;
  MutexLock lock(mutex_);
  report.threads_target = target_.load();
  report.threads_running = running_.load();
  report.connections = open_.load();
  report.connections_total = admitted_.load();
  report.connections_rejected = rejected_.load();
  report.turns = past_turns_;
  report.idle_kicks = past_idle_kicks_;
  report.refused_tails = past_refused_tails_;
  for (const auto& worker : leaving_) {
    const WorkerStats& stats = worker->stats();
    report.idle_kicks += stats.idle_kicks.load();
    report.refused_tails += stats.refused_tails.load();
    stats.AddTo(report.turns);
  }
  for (const auto& worker : workers_) {
    const WorkerStats& stats = worker->stats();
    report.workers.push_back(
        WorkerReport{stats.connections.load(), stats.busy_ns.load(), worker->commands()});
    report.throttled += stats.throttled.load();
    report.idle_kicks += stats.idle_kicks.load();
    report.refused_tails += stats.refused_tails.load();
    report.read_buffers += stats.tails.load();
    report.read_buffer_bytes += stats.tail_bytes.load();
    report.reply_buffers += stats.outputs.load();
    report.reply_buffer_bytes += stats.output_bytes.load();
    stats.AddTo(report.turns);
  }
  return report;
}

}  // namespace podcache::net
