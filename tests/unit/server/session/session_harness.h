// A server without sockets: the session over a real store, on a manual clock, fed the way `net`
// feeds it.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/base/clock.h"
#include "common/base/output_buffer.h"
#include "server/command/server_context.h"
#include "server/command/watched_evictions.h"
#include "server/metrics/worker_counters.h"
#include "server/net/request_handler.h"
#include "server/session.h"
#include "server/store/store.h"
#include "server/watch/watch_hub.h"
#include "server/wire_protocol.h"

namespace podcache::testing {

// Answers with what a test puts in, and remembers what it was asked for.
class RecordingContext final : public command::ServerContext {
 public:
  command::ServerStats Stats() const override { return stats; }
  command::SettingsReport Settings() const override { return settings; }
  void UpdateSettings(const std::function<void(command::SettingsReport&)>& change) override {
    change(settings);
  }
  bool SetMemoryLimit(std::uint64_t limit_bytes) override {
    asked_limits.push_back(limit_bytes);
    return accept_limit;
  }
  std::vector<command::ConnectionReport> Connections() const override { return connections; }
  void SetVerbosity(int level) override { verbosity = level; }
  void RequestShutdown(bool graceful) override { shutdowns.push_back(graceful); }

  command::ServerStats stats = {.libevent_version = "2.1.12-stable"};
  command::SettingsReport settings;
  std::vector<command::ConnectionReport> connections;
  bool accept_limit = true;
  std::atomic<int> verbosity = 0;
  std::vector<std::uint64_t> asked_limits;
  std::vector<bool> shutdowns;
};

class Connection;

class Harness {
 public:
  explicit Harness(const command::CommandOptions& options = {},
                   const store::StoreOptions& store_options = DefaultStore(),
                   const Authenticator* authenticator = nullptr);

  static store::StoreOptions DefaultStore() {
    store::StoreOptions options;
    options.hash_seed = 1;
    return options;
  }
  std::uint64_t Count(metrics::Counter counter) const { return registry.Sum(counter); }
  // One exchange on a connection of its own.
  std::string Ask(std::string_view input);

  ManualClock clock;
  RecordingContext context;
  metrics::CounterRegistry registry;
  watch::WatchHub watch{watch::WatchSettings()};
  command::WatchedEvictions watched_evictions{watch, clock};
  store::Store store;
  std::unique_ptr<net::RequestHandlerFactory> factory;
  std::unique_ptr<net::WorkerHandler> worker;
};

// What `net` does for one connection, in memory.
class Connection {
 public:
  explicit Connection(Harness& harness);
  explicit Connection(net::WorkerHandler& worker, std::uint64_t id = 0,
                      WireProtocol protocol = WireProtocol::kNegotiating);

  // The bytes arrive with one read; returns what is sent until more input is wanted.
  std::string Receive(std::string_view bytes);
  // What a stream has to say now.
  std::string Tick();
  bool closed() const { return closed_; }
  bool aborted() const { return aborted_; }
  bool streaming() const { return streaming_; }
  int yields() const { return yields_; }
  // Bytes that went straight into an item.
  std::size_t direct_bytes() const { return direct_bytes_; }
  std::size_t unconsumed_bytes() const { return input_.size(); }
  // The most that was ever waiting to be sent at once.
  std::size_t peak_output_bytes() const { return peak_output_bytes_; }
  bool AtRequestBoundary() const { return handler_->AtRequestBoundary(); }

 private:
  // Takes the result of one call and sends the output.
  void Take(const net::HandlerResult& result, std::string& sent);

  net::WorkerHandler& worker_;
  std::unique_ptr<net::ConnectionHandler> handler_;
  OutputBuffer output_;
  std::string input_;
  std::span<char> direct_;
  bool yielded_ = false;
  bool replaced_ = false;
  bool closed_ = false;
  bool aborted_ = false;
  bool streaming_ = false;
  const std::uint64_t id_;
  int yields_ = 0;
  std::size_t direct_bytes_ = 0;
  std::size_t peak_output_bytes_ = 0;
};

}  // namespace podcache::testing
