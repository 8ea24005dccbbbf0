// podcachectl's connection to one server's admin API, plaintext: loopback or a Unix socket.
//
// Threads: one. Errors say what to check when nobody answers.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "common/status/status.h"

namespace podcache::admin::v1 {
class Config;
class ResizeProgress;
class ServerInfo;
class Stats;
}  // namespace podcache::admin::v1

namespace podcache::control {

class AdminConnection {
 public:
  explicit AdminConnection(std::string address);
  ~AdminConnection();

  absl::StatusOr<admin::v1::ServerInfo> GetServerInfo();
  absl::StatusOr<admin::v1::Config> GetConfig();
  absl::StatusOr<admin::v1::Stats> GetStats();
  absl::StatusOr<admin::v1::Config> SetMemory(std::uint64_t bytes);
  absl::StatusOr<admin::v1::Config> SetThreads(std::uint32_t threads);
  absl::Status Flush(std::chrono::seconds delay);

  // Calls `show` with each message until the resize is done, and returns the last one.
  absl::StatusOr<admin::v1::ResizeProgress> WatchResize(
      std::chrono::seconds timeout,
      const std::function<void(const admin::v1::ResizeProgress&)>& show);

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace podcache::control
