// The composition root: builds the parts of a server, starts them, stops them. Nothing else knows
// all of them.
//
// Start, in this order; each step may refuse, then what was started is stopped again:
//   names resolved → HTTP listens (alive, not ready) → store → workers → live settings and their
//   guard → sockets bound → port and pid files → admin API → clients accepted → ready
// Stop, in this order:
//   ready false → stop accepting → finish requests in flight → close idle connections → deadline →
//   close all → join the workers → close the side doors → free the store
//
// Threads: the thread that calls Run owns the server and runs its event loop (signals, accepting).
// The ServerContext functions are called by workers. Ownership: options and clock outlive the
// server; members are destroyed in the reverse order of their dependencies.
#pragma once

#include <atomic>
#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "common/base/adjustable_clock.h"
#include "common/base/clock.h"
#include "common/base/mutex.h"
#include "common/cgroup/cgroup.h"
#include "server/auth_file.h"
#include "server/command/server_context.h"
#include "server/command/watched_evictions.h"
#include "server/metrics/worker_counters.h"
#include "server/net/event_loop.h"
#include "server/net/listener.h"
#include "server/net/worker_pool.h"
#include "server/options.h"
#include "server/resize_guard.h"
#include "server/runtime_config.h"
#include "server/side_doors.h"
#include "server/start_sizes.h"
#include "server/store/store.h"
#include "server/watch/watch_hub.h"

namespace podcache::server {

// How long requests in flight may take when the server stops.
inline constexpr std::chrono::milliseconds kDrainTime{800};

class Server final : public command::ServerContext {
 public:
  Server(const Options& options, const StartSizes& sizes, const cgroup::Reader& cgroup,
         const Clock& clock, std::string config_hash);
  ~Server() override;

  // Test builds: lets debugtime move the clock that the server was made with. Before Start.
  void set_test_clock(AdjustableClock& clock) noexcept { test_clock_ = &clock; }

  bool Start(std::string& error);
  // Serves until a signal or a command ends it, then stops. Start must have succeeded.
  void Run();
  // From any thread, also before Run.
  void RequestStop() noexcept;

  // ServerContext.
  command::ServerStats Stats() const override;
  command::SettingsReport Settings() const override;
  std::vector<command::ConnectionReport> Connections() const override;
  void UpdateSettings(const std::function<void(command::SettingsReport&)>& change) override;
  bool SetMemoryLimit(std::uint64_t limit_bytes) override;
  void SetVerbosity(int level) override;
  void RequestShutdown(bool graceful) override;

  // The TCP ports in use, IPv4 or IPv6. For tests.
  std::vector<std::uint16_t> ports() const;

 private:
  bool LoadAuthFile(std::string& error);
  bool ResolveNames(std::string& error);
  bool WatchSignals(std::string& error);
  bool StartStore(std::string& error);
  bool StartWorkers(std::string& error);
  bool OpenSockets(std::vector<net::ListenSocket>& sockets, std::string& error);
  bool OpenUdpSockets(std::string& error);
  bool WriteFiles(const std::vector<net::ListenSocket>& sockets, std::string& error);
  bool StartListening(std::vector<net::ListenSocket> sockets, std::string& error);
  void Reload();
  void Stop();
  void SaveItems();

  const Options& options_;
  const StartSizes sizes_;
  const cgroup::Reader& cgroup_;
  const Clock& clock_;
  const std::string config_hash_;
  const std::chrono::nanoseconds started_;
  const std::int64_t start_unix_seconds_;

  std::vector<ListenGroup> addresses_;
  std::vector<ListenGroup> udp_addresses_;
  std::vector<net::SocketAddress> bound_;
  std::vector<net::ListenSocket> udp_sockets_;  // Until they are served.
  int udp_port_ = 0;
  net::EventLoop loop_;
  net::WakeUp stop_signal_;
  std::vector<std::unique_ptr<net::Watch>> signal_watches_;
  std::atomic<bool> stop_requested_{false};
  std::atomic<int> verbosity_;
  AdjustableClock* test_clock_ = nullptr;
  mutable Mutex settings_mutex_;
  // As given, and as commands have changed them since.
  command::SettingsReport settings_ GUARDED_BY(settings_mutex_);
  bool pid_file_written_ = false;

  std::unique_ptr<SideDoors> side_doors_;
  net::Watch auth_timer_;
  std::unique_ptr<AuthFile> auth_file_;
  metrics::CounterRegistry counters_;
  watch::WatchHub watch_hub_;
  command::WatchedEvictions watched_evictions_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<net::RequestHandlerFactory> handlers_;
  std::unique_ptr<net::WorkerPool> pool_;
  std::unique_ptr<RuntimeConfig> runtime_;
  std::unique_ptr<ResizeGuard> guard_;
  std::unique_ptr<net::Listener> listener_;
};

}  // namespace podcache::server
