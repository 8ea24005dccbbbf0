// What the admin API needs from the rest of the server. Implemented by the composition root, by
// doubles in unit tests.
//
// Threads: called from gRPC's threads, several at a time; implementations guard themselves and do
// not block for long.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace podcache::admin::v1 {
class Config;
class ResizeProgress;
class ServerInfo;
class Stats;
}  // namespace podcache::admin::v1

namespace podcache::admin {

enum class ChangeCode : std::uint8_t {
  kOk,
  kOutOfRange,     // The message names the range.
  kExceedsCgroup,  // The message names the cgroup limit and what would be needed.
  kFailed,         // The system refused, for example no more threads.
};

struct ChangeResult {
  ChangeCode code = ChangeCode::kOk;
  std::string message;  // Empty if kOk.
  bool ok() const { return code == ChangeCode::kOk; }
};

class Backend {
 public:
  virtual ~Backend() = default;

  virtual v1::ServerInfo GetServerInfo() const = 0;
  virtual v1::Config GetConfig() const = 0;
  virtual v1::Stats GetStats() const = 0;
  // `done` is true as soon as memory and threads are what was asked for; false right after a change
  // was accepted.
  virtual v1::ResizeProgress GetResizeProgress() const = 0;

  // Whether the setters would accept; changes nothing.
  virtual ChangeResult CheckMemoryTarget(std::uint64_t target_bytes) const = 0;
  virtual ChangeResult CheckThreadTarget(std::uint32_t threads) const = 0;
  // Return as soon as the change is accepted. Asking for what is already so is accepted.
  virtual ChangeResult SetMemoryTarget(std::uint64_t target_bytes) = 0;
  virtual ChangeResult SetThreadTarget(std::uint32_t threads) = 0;

  // Drops every item stored before now + delay, from that moment on.
  virtual void Flush(std::chrono::seconds delay) = 0;
};

}  // namespace podcache::admin
