// What commands need from the rest of the server: figures for `stats`, and the few actions that
// reach beyond the store.
//
// Implemented by the composition root (server/server.cc), by doubles in unit tests.
// Threads: called from every worker thread; implementations guard themselves. Calls are rare
// (administrative commands), they may take a lock but must not wait for other workers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace podcache::command {

// Figures of `stats` that neither the store nor the workers' counters know (protocol.md 6).
struct ServerStats {
  std::int64_t pid = 0;
  std::uint64_t uptime_seconds = 0;
  std::int64_t unix_time_seconds = 0;  // unix_time_seconds − uptime_seconds is constant.
  std::string libevent_version;
  std::uint64_t user_cpu_us = 0;
  std::uint64_t system_cpu_us = 0;
  std::uint64_t max_connections = 0;
  std::uint64_t current_connections = 0;
  std::uint64_t total_connections = 0;
  std::uint64_t rejected_connections = 0;
  std::uint64_t connection_structures = 0;
  std::uint64_t reserved_fds = 0;
  bool accepting_connections = true;
  std::uint64_t listen_disabled = 0;
  std::uint64_t listen_disabled_us = 0;
  std::uint64_t threads = 0;
  // Memory of replies not yet sent and of requests not yet complete.
  std::uint64_t response_buffers = 0;
  std::uint64_t response_buffer_bytes = 0;
  std::uint64_t response_out_of_memory = 0;
  std::uint64_t read_buffers = 0;
  std::uint64_t read_buffer_bytes = 0;
  std::uint64_t read_buffer_free_bytes = 0;
  std::uint64_t read_out_of_memory = 0;
  std::uint64_t idle_kicks = 0;  // Shown when an idle timeout is set.
  // Of `watch`.
  std::uint64_t watchers = 0;
  std::uint64_t watch_lines_dropped = 0;  // By workers.
  std::uint64_t watch_lines_written = 0;
  std::uint64_t watch_lines_skipped = 0;  // Of a watcher.
  std::uint64_t watch_lines_sent = 0;
};

// One connection or listening socket in `stats conns`.
struct ConnectionReport {
  std::uint64_t id = 0;
  std::string address;
  std::string listen_address;  // Empty: a listening socket.
  std::string_view state;
  std::uint32_t idle_seconds = 0;
  bool is_udp = false;
};

// Values of `stats settings`. The defaults are memcached's; options without effect here show what
// was given. `maxbytes` and `num_threads` are those in force now.
struct SettingsReport {
  std::uint64_t maxbytes = 64ULL << 20;
  std::uint64_t maxconns = 1024;
  int tcpport = 11211;
  int udpport = 0;
  std::string inter;  // Empty shows as NULL, as in all text values here.
  int verbosity = 0;
  bool evictions = true;
  std::string domain_socket;
  unsigned umask = 0700;
  bool shutdown_command = false;
  double growth_factor = 1.25;
  std::uint64_t chunk_size = 48;
  std::uint64_t num_threads = 4;
  std::string stat_key_prefix = ":";
  bool detail_enabled = false;
  std::uint64_t reqs_per_event = 20;
  bool cas_enabled = true;
  int tcp_backlog = 1024;
  std::string binding_protocol = "auto-negotiate";
  std::string auth_file;  // Shown as auth_enabled_ascii.
  std::uint64_t item_size_max = 1ULL << 20;
  bool maxconns_fast = true;
  int hashpower_init = 0;
  bool slab_reassign = true;
  int slab_automove = 1;
  double slab_automove_ratio = 0.8;
  unsigned slab_automove_window = 10;
  std::uint64_t slab_chunk_max = 512 << 10;
  bool lru_crawler = true;
  std::uint64_t lru_crawler_sleep = 100;
  std::uint64_t lru_crawler_tocrawl = 0;
  std::uint64_t tail_repair_time = 0;
  bool flush_enabled = true;
  bool dump_enabled = true;
  std::string hash_algorithm = "xxh3";
  bool lru_maintainer = true;
  bool lru_segmented = true;
  unsigned hot_lru_pct = 20;
  unsigned warm_lru_pct = 40;
  double hot_max_factor = 0.2;
  double warm_max_factor = 2.0;
  bool temp_lru = false;
  std::uint64_t temporary_ttl = 61;
  std::uint64_t idle_timeout = 0;
  std::uint64_t watcher_logbuf_size = 256 << 10;
  std::uint64_t worker_logbuf_size = 64 << 10;
  std::uint64_t read_buf_mem_limit = 0;
  bool track_sizes = false;
  std::string memory_file;
};

class ServerContext {
 public:
  virtual ~ServerContext() = default;

  virtual ServerStats Stats() const = 0;
  virtual SettingsReport Settings() const = 0;
  // Ascending by id.
  virtual std::vector<ConnectionReport> Connections() const { return {}; }

  // A command changes what `stats settings` shows from now on.
  virtual void UpdateSettings(const std::function<void(SettingsReport&)>& change) = 0;
  // `cache_memlimit`: the same resize as over the admin interface. False when the target is out of
  // bounds.
  virtual bool SetMemoryLimit(std::uint64_t limit_bytes) = 0;
  virtual void SetVerbosity(int level) = 0;
  // Starts stopping the server and returns: graceful as by SIGUSR1, else as by SIGINT.
  virtual void RequestShutdown(bool graceful) = 0;
};

}  // namespace podcache::command
