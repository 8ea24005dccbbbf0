// The command line of podcached: memcached's options that exist for the text protocol, and our own
// long ones.
//
// One table (option_table.h) feeds the parser, --help and the documentation. Options are fixed once
// they are parsed; what changes while the server runs belongs to RuntimeConfig.
//
// Source: protocol.md 9 in short: must = works; accept = checked, shown in `stats settings`,
// otherwise without effect; later = refused with a message until its feature exists; out = refused
// for ever.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "server/command/server_context.h"
#include "server/listen_spec.h"
#include "server/store/eviction_policy.h"
#include "server/wire_protocol.h"

namespace podcache::server {

// Exit codes as in sysexits(3).
inline constexpr int kExitUsage = 64;
inline constexpr int kExitNoUser = 67;
inline constexpr int kExitOsError = 71;
inline constexpr int kExitUnavailable = 69;

struct Options {
  // Where to listen.
  std::optional<int> port;  // -1: any, 0: no TCP. Absent: that of UDP if there is one, else 11211.
  WireProtocol protocol = WireProtocol::kNegotiating;
  std::vector<std::string> listen;
  bool loopback = false;
  std::string unix_socket;
  std::string extra_unix_socket;
  std::string http_listen = "*:9150";                          // Empty: off.
  std::vector<std::string> admin_listen = {"127.0.0.1:9151"};  // Empty: off.
  // Not given on the command line: then a port in use is no reason not to start.
  bool http_listen_is_default = true;
  bool admin_listen_is_default = true;

  // What is chosen from the cgroup or the pod configuration unless given.
  std::optional<std::uint64_t> memory_bytes;
  std::optional<std::uint32_t> threads;
  bool max_item_size_given = false;
  bool slab_chunk_max_given = false;
  bool max_connections_given = false;

  bool watch_enabled = true;   // -W clears it.
  std::string given_protocol;  // As -B names it.

  // The process.
  bool daemonize = false;
  bool core_dumps = false;
  bool lock_memory = false;
  bool large_pages = false;
  store::EvictionKind eviction = store::EvictionKind::kS3Fifo;
  std::string pid_file;
  std::string user;

  bool help = false;
  bool license = false;
  bool version = false;

  // Everything that `stats settings` shows, with memcached's defaults except for -R: most options
  // live here and nowhere else.
  command::SettingsReport settings;

  Options() { settings.reqs_per_event = 500; }

  // What sockets are like where -l does not say it. A port 0: none.
  ListenDefaults tcp_defaults() const;
  ListenDefaults udp_defaults() const { return {settings.udpport, protocol}; }
};

// False with one line of reason, without the program's name, if anything is wrong.
bool ParseOptions(int argc, const char* const* argv, Options& options, std::string& error);

// Relations between options, and what can be checked without opening a socket.
bool ValidateOptions(const Options& options, std::string& error);

}  // namespace podcache::server
