#include "server/server.h"

#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <utility>

#include "common/process/process_stats.h"
#include "server/connection_report.h"
#include "server/listen_spec.h"
#include "server/log.h"
#include "server/memory/program_pages.h"
#include "server/process_setup.h"
#include "server/session.h"

namespace podcache::server {

namespace {

// memcached's words for a client above -c.
constexpr char kTooManyConnections[] = "ERROR Too many open connections\r\n";
// For one who sends half a request when read_buf_mem_limit is used up.
constexpr char kNoReadMemory[] = "SERVER_ERROR out of memory reading request\r\n";
constexpr std::chrono::seconds kAuthFilePeriod{1};

net::PoolSettings MakePoolSettings(const Options& options, const StartSizes& sizes,
                                   store::Store& store) {
  net::PoolSettings settings;
  settings.max_connections = sizes.max_connections;
  settings.worker.idle_timeout = std::chrono::seconds(options.settings.idle_timeout);
  settings.worker.tail_limit_bytes = options.settings.read_buf_mem_limit;
  settings.worker.tails_full_text = kNoReadMemory;
  settings.worker.charge_memory = [&store](std::int64_t delta_bytes) {
    store.ChargeExternal(delta_bytes);
    if (delta_bytes > 0) store.MakeRoom();
  };
  return settings;
}

// The memory of watchers counts against the store's budget: there is a store whenever there is a
// watcher.
watch::WatchSettings MakeWatchSettings(const Options& options,
                                       const std::unique_ptr<store::Store>& store) {
  watch::WatchSettings settings;
  settings.watcher_bytes = options.settings.watcher_logbuf_size;
  settings.producer_bytes = options.settings.worker_logbuf_size;
  settings.charge_memory = [&store](std::int64_t delta_bytes) {
    store->ChargeExternal(delta_bytes);
  };
  return settings;
}

// As the port file lists them.
std::string PortLines(const std::string& transport, const std::vector<net::ListenSocket>& sockets) {
  std::string text;
  for (const net::ListenSocket& socket : sockets) {
    if (socket.is_unix) continue;
    text += transport + (socket.address.family() == AF_INET6 ? " INET6: " : " INET: ") +
            std::to_string(socket.address.port()) + "\n";
  }
  return text;
}

void ReportRestart(const store::RestartReport& report) {
  for (const std::string& note : report.notes) LogWarning("-e: " + note);
  if (report.warm) {
    LogInfo("Restored " + std::to_string(report.items) + " items in " +
            std::to_string(report.seconds) + " s");
  } else if (!report.cold_reason.empty()) {
    LogWarning("-e: beginning with an empty cache: " + report.cold_reason);
  }
}

std::uint64_t Microseconds(const timeval& time) {
  return static_cast<std::uint64_t>(time.tv_sec) * 1'000'000 +
         static_cast<std::uint64_t>(time.tv_usec);
}

}  // namespace

Server::Server(const Options& options, const StartSizes& sizes, const cgroup::Reader& cgroup,
               const Clock& clock, std::string config_hash)
    : options_(options),
      sizes_(sizes),
      cgroup_(cgroup),
      clock_(clock),
      config_hash_(std::move(config_hash)),
      started_(clock.MonotonicNow()),
      start_unix_seconds_(clock.WallSeconds()),
      verbosity_(options.settings.verbosity),
      settings_(options.settings),
      side_doors_(NewSideDoors(options)),
      watch_hub_(MakeWatchSettings(options, store_)),
      watched_evictions_(watch_hub_, clock) {}

Server::~Server() { Stop(); }

bool Server::Start(std::string& error) {
  if (!ResolveNames(error)) return false;
  std::vector<net::ListenSocket> sockets;
  return LoadAuthFile(error) && WatchSignals(error) && side_doors_->Check(error) &&
         side_doors_->Start(error) && StartStore(error) && StartWorkers(error) &&
         OpenSockets(sockets, error) && OpenUdpSockets(error) && WriteFiles(sockets, error) &&
         side_doors_->Serve(RunningParts{*store_, *pool_, *runtime_, counters_, *this, clock_},
                            error) &&
         StartListening(std::move(sockets), error);
}

bool Server::LoadAuthFile(std::string& error) {
  if (options_.settings.auth_file.empty()) return true;
  auth_file_ = std::make_unique<AuthFile>(options_.settings.auth_file);
  auth_timer_.StartPeriodic(
      loop_, kAuthFilePeriod, [](void* file) { static_cast<AuthFile*>(file)->ReloadIfChanged(); },
      auth_file_.get());
  return auth_file_->Load(error);
}

bool Server::ResolveNames(std::string& error) {
  if (!options_.unix_socket.empty()) return true;
  const auto resolve = [&](const ListenDefaults& defaults, std::vector<ListenGroup>& groups) {
    std::vector<ListenSpec> specs;
    return ParseListenSpecs(options_.listen, defaults, specs, error) &&
           ResolveListenAddresses(specs, options_.loopback, defaults, groups, error);
  };
  const ListenDefaults udp = options_.udp_defaults();
  return resolve(options_.tcp_defaults(), addresses_) &&
         (udp.port == 0 || resolve(udp, udp_addresses_));
}

bool Server::WatchSignals(std::string& error) {
  stop_signal_.Start(
      loop_, [](void*) {}, nullptr);
  const auto watch = [this](int signal, net::WatchCallback callback) {
    signal_watches_.push_back(std::make_unique<net::Watch>());
    return signal_watches_.back()->StartSignal(loop_, signal, callback, this);
  };
  const auto stop = [](void* self) { static_cast<Server*>(self)->stop_requested_.store(true); };
  // In place of those for the early ones, which stand again when the loop has ended.
  const bool watched = watch(SIGINT, stop) && watch(SIGTERM, stop) && watch(SIGUSR1, stop) &&
                       watch(SIGHUP, [](void* self) { static_cast<Server*>(self)->Reload(); });
  if (!watched) error = "cannot wait for signals";
  return watched;
}

void Server::Reload() {
  if (auth_file_ == nullptr) return LogInfo("Nothing to reload");
  auth_file_->Reload();
}

bool Server::StartStore(std::string& error) {
  store::StoreOptions wanted;
  wanted.memory_limit_bytes = sizes_.memory_limit_bytes;
  wanted.max_item_size_bytes = sizes_.max_item_size_bytes;
  wanted.evictions = options_.settings.evictions;
  wanted.eviction = options_.eviction;
  wanted.cas = options_.settings.cas_enabled;
  wanted.eviction_observer = &watched_evictions_;
  wanted.large_pages = options_.large_pages;
  wanted.memory_file = options_.settings.memory_file;
  try {
    store_ = std::make_unique<store::Store>(wanted, clock_);
  } catch (const store::UnusableMemoryFile& failure) {
    error = std::string("-e: ") + failure.what();
    return false;
  } catch (const std::exception& failure) {
    error = "cannot set up " + std::to_string(sizes_.memory_limit_bytes) +
            " bytes of memory: " + failure.what();
    return false;
  }
  if (!wanted.memory_file.empty()) ReportRestart(store_->restart_report());
  return true;
}

bool Server::StartWorkers(std::string& error) {
  command::CommandOptions commands;
  commands.flush_enabled = options_.settings.flush_enabled;
  commands.shutdown_enabled = options_.settings.shutdown_command;
  commands.watch_enabled = options_.watch_enabled;
  commands.prefix_delimiter = options_.settings.stat_key_prefix.front();
  commands.detail_enabled = options_.settings.detail_enabled;
  commands.test_clock = test_clock_;
  commands.requests_per_turn = static_cast<std::uint32_t>(options_.settings.reqs_per_event);
  handlers_ = NewSessionFactory(*store_, counters_, *this, clock_, commands,
                                SessionFeatures{auth_file_.get(), &watch_hub_});
  pool_ = std::make_unique<net::WorkerPool>(*handlers_, clock_,
                                            MakePoolSettings(options_, sizes_, *store_));
  listener_ = std::make_unique<net::Listener>(
      loop_, *pool_, clock_,
      net::ListenerSettings{kTooManyConnections, options_.settings.maxconns_fast});
  FixedSettings fixed{sizes_.sizing, config_hash_, sizes_.max_connections,
                      sizes_.max_item_size_bytes};
  runtime_ = std::make_unique<RuntimeConfig>(*store_, *pool_, cgroup_, clock_, std::move(fixed),
                                             sizes_.memory_target_bytes);
  if (!pool_->SetThreads(sizes_.threads)) {
    error = "cannot start " + std::to_string(sizes_.threads) + " worker threads";
    return false;
  }
  guard_ = std::make_unique<ResizeGuard>(*runtime_);
  return true;
}

bool Server::OpenSockets(std::vector<net::ListenSocket>& sockets, std::string& error) {
  const int backlog = options_.settings.tcp_backlog;
  for (const ListenGroup& group : addresses_) {
    const std::size_t first = sockets.size();
    if (!net::ListenTcp(group.addresses, backlog, sockets, error)) return false;
    for (std::size_t i = first; i < sockets.size(); ++i)
      sockets[i].tag = static_cast<std::uint8_t>(group.protocol);
  }
  for (const std::string* path : {&options_.unix_socket, &options_.extra_unix_socket}) {
    if (path->empty()) continue;
    if (!net::ListenUnix(*path, options_.settings.umask, backlog, sockets, error)) return false;
    sockets.back().tag = static_cast<std::uint8_t>(options_.protocol);
  }
  for (const net::ListenSocket& socket : sockets) {
    if (!socket.is_unix) bound_.push_back(socket.address);
  }
  return true;
}

bool Server::OpenUdpSockets(std::string& error) {
  for (const ListenGroup& group : udp_addresses_) {
    const std::size_t first = udp_sockets_.size();
    if (!net::ListenUdp(group.addresses, udp_sockets_, error)) return false;
    for (std::size_t i = first; i < udp_sockets_.size(); ++i)
      udp_sockets_[i].tag = static_cast<std::uint8_t>(group.protocol);
  }
  if (!udp_sockets_.empty()) udp_port_ = udp_sockets_.front().address.port();
  return true;
}

bool Server::WriteFiles(const std::vector<net::ListenSocket>& sockets, std::string& error) {
  if (const char* const path = std::getenv("MEMCACHED_PORT_FILENAME"); path != nullptr) {
    const std::string text = PortLines("TCP", sockets) + PortLines("UDP", udp_sockets_);
    if (!WritePortFile(path, text, error)) return false;
  }
  if (options_.pid_file.empty()) return true;
  pid_file_written_ = WritePidFile(options_.pid_file, error);
  return pid_file_written_;
}

bool Server::StartListening(std::vector<net::ListenSocket> sockets, std::string& error) {
  // As memcached does; gRPC and HTTP may still be wanted.
  if (sockets.empty() && udp_sockets_.empty())
    LogWarning("No client can reach this server: the ports are 0 and there is no Unix socket");
  if (!listener_->Start(std::move(sockets))) {
    error = "cannot wait for clients";
    return false;
  }
  pool_->ServeDatagrams(std::move(udp_sockets_));
  // Everything that stays resident is there by now.
  const store::StoreStats stats = store_->stats();
  // Of a memory file only what somebody has touched is resident.
  const bool in_file = !options_.settings.memory_file.empty();
  const std::uint64_t charged =
      (in_file ? 0 : stats.segment_bytes) + stats.index_bytes + stats.external_bytes;
  const std::uint64_t resident =
      ReadResidentMemoryBytes() - (in_file ? ReadResidentSharedMemoryBytes() : 0);
  store_->SetOverhead(resident > charged ? resident - charged : 0);
  memory::ReleaseProgramPages();
  side_doors_->SetReady(true);
  LogInfo("Serving with " + std::to_string(sizes_.memory_limit_bytes) + " bytes of memory and " +
          std::to_string(sizes_.threads) + " threads");
  return true;
}

void Server::Run() {
  while (!stop_requested_.load()) loop_.RunTurn(true);
  Stop();
}

void Server::RequestStop() noexcept {
  stop_requested_.store(true);
  stop_signal_.Signal();
}

void Server::Stop() {
  side_doors_->SetReady(false);
  if (listener_ != nullptr) listener_->Stop();
  guard_.reset();
  if (pool_ != nullptr) pool_->Stop(kDrainTime);
  side_doors_->Stop();
  if (std::exchange(pid_file_written_, false)) ::unlink(options_.pid_file.c_str());
  listener_.reset();
  runtime_.reset();
  pool_.reset();
  handlers_.reset();
  SaveItems();
  store_.reset();
}

// Also after a start that failed: what was there before it shall be there for the next one.
void Server::SaveItems() {
  if (store_ == nullptr || options_.settings.memory_file.empty()) return;
  std::string error;
  if (store_->Save(error)) {
    LogInfo("Saved the items");
  } else {
    LogWarning("-e: the items are lost: " + error);
  }
}

command::ServerStats Server::Stats() const {
  command::ServerStats stats;
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  const net::PoolReport pool = pool_->Report();
  const net::ListenerReport listener = listener_->report();
  const auto uptime =
      std::chrono::duration_cast<std::chrono::seconds>(clock_.MonotonicNow() - started_).count();
  stats.pid = ::getpid();
  stats.uptime_seconds = static_cast<std::uint64_t>(uptime);
  // By the start, not by the wall clock now: the difference of the two stays the same when somebody
  // sets the clock.
  stats.unix_time_seconds = start_unix_seconds_ + uptime;
  stats.libevent_version = net::LibeventVersion();
  stats.user_cpu_us = Microseconds(usage.ru_utime);
  stats.system_cpu_us = Microseconds(usage.ru_stime);
  stats.max_connections = sizes_.max_connections;
  stats.current_connections = pool.connections;
  stats.total_connections = pool.connections_total;
  stats.rejected_connections = pool.connections_rejected;
  stats.connection_structures = pool.connections;
  stats.reserved_fds = bound_.size();
  stats.accepting_connections = listener.accepting;
  stats.listen_disabled = listener.disabled_count;
  stats.listen_disabled_us = listener.disabled_us;
  stats.threads = pool.threads_running;
  stats.response_buffers = pool.reply_buffers;
  stats.response_buffer_bytes = pool.reply_buffer_bytes;
  stats.read_buffers = pool.read_buffers;
  stats.read_buffer_bytes = pool.read_buffer_bytes;
  stats.idle_kicks = pool.idle_kicks;
  stats.read_out_of_memory = pool.refused_tails;
  const watch::WatchStats watch = watch_hub_.stats();
  stats.watchers = watch.watchers;
  stats.watch_lines_dropped = watch.dropped;
  stats.watch_lines_written = watch.produced;
  stats.watch_lines_skipped = watch.skipped;
  stats.watch_lines_sent = watch.sent;
  return stats;
}

std::vector<command::ConnectionReport> Server::Connections() const {
  using std::chrono::seconds;
  const auto now = std::chrono::duration_cast<seconds>(clock_.MonotonicNow());
  return ReportConnections(listener_->ListSockets(), pool_->ListDatagramPorts(),
                           pool_->ListConnections(), static_cast<std::uint32_t>(now.count()));
}

command::SettingsReport Server::Settings() const {
  command::SettingsReport settings;
  {
    MutexLock lock(settings_mutex_);
    settings = settings_;
  }
  settings.maxbytes = runtime_->memory().limit_bytes;
  settings.num_threads = pool_->threads_running();
  settings.maxconns = sizes_.max_connections;
  settings.item_size_max = sizes_.max_item_size_bytes;
  settings.verbosity = verbosity_.load();
  settings.domain_socket = options_.unix_socket;
  settings.udpport = udp_port_;
  settings.tcpport = bound_.empty() ? 0 : bound_.front().port();
  for (const std::string& value : options_.listen)
    settings.inter += (settings.inter.empty() ? "" : ",") + value;
  if (options_.loopback) settings.inter = "127.0.0.1,[::1]";
  return settings;
}

void Server::UpdateSettings(const std::function<void(command::SettingsReport&)>& change) {
  MutexLock lock(settings_mutex_);
  change(settings_);
}

bool Server::SetMemoryLimit(std::uint64_t limit_bytes) {
  return runtime_->SetMemoryTarget(limit_bytes).ok();
}

void Server::SetVerbosity(int level) {
  verbosity_.store(level);
  server::SetVerbosity(level);
}

void Server::RequestShutdown(bool) { RequestStop(); }

std::vector<std::uint16_t> Server::ports() const {
  std::vector<std::uint16_t> ports;
  for (const net::SocketAddress& address : bound_) ports.push_back(address.port());
  return ports;
}

}  // namespace podcache::server
