// What all connections of one worker share: the store session, the retrieval batch, counters and
// timing.
//
// Threads: one worker. Ownership: owns the store session; gives its counters back when it ends.
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <memory>
#include <utility>

#include "common/base/clock.h"
#include "server/command/admin_command.h"
#include "server/command/binary_executor.h"
#include "server/command/binary_get_batch.h"
#include "server/command/command_executor.h"
#include "server/command/command_options.h"
#include "server/command/event_log.h"
#include "server/command/get_batch.h"
#include "server/command/meta_command.h"
#include "server/command/meta_get.h"
#include "server/command/set_batch.h"
#include "server/metrics/worker_counters.h"
#include "server/net/request_handler.h"
#include "server/pending_meta_set.h"
#include "server/session.h"
#include "server/store/store.h"

namespace podcache {

class WorkerSession final : public net::WorkerHandler {
 public:
  WorkerSession(store::Store& store, metrics::CounterRegistry& registry,
                command::AdminCommand& admin, const Clock& clock,
                const command::CommandOptions& options, const SessionFeatures& features);
  ~WorkerSession() override;

  std::unique_ptr<net::ConnectionHandler> NewConnection(const net::ConnectionInfo& info) override;
  void OnDatagram(std::uint8_t socket_tag, std::span<const char> requests,
                  std::size_t max_reply_bytes, OutputBuffer& output) override;
  void ConnectionClosed(const net::ConnectionInfo& info, net::CloseReason reason) noexcept override;
  void EndTurn() noexcept override;
  void CountBytes(std::uint64_t received, std::uint64_t sent) noexcept override;
  void CountYield() noexcept override;
  void CountHandoff() noexcept override;
  std::uint64_t commands() const noexcept override;

  command::CommandExecutor& executor() noexcept { return executor_; }
  command::GetBatch& gets() noexcept { return gets_; }
  command::SetBatch& sets() noexcept { return sets_; }
  command::BinaryExecutor& binary_executor() noexcept { return binary_executor_; }
  command::BinaryGetBatch& binary_gets() noexcept { return binary_gets_; }
  command::MetaCommand& meta() noexcept { return meta_; }
  command::MetaGetBatch& meta_gets() noexcept { return meta_gets_; }
  // Answer what has been gathered of other kinds, so that only one kind is pending.
  void MakeWayForGets(const store::ReadOptions& options, OutputBuffer& output) {
    sets_.Flush(output);
    meta_gets_.Flush(output);
    if (!gets_.Accepts(options)) gets_.Flush(output);
  }
  void MakeWayForSets(OutputBuffer& output) {
    gets_.Flush(output);
    meta_gets_.Flush(output);
  }
  void MakeWayForMetaGets(OutputBuffer& output) {
    gets_.Flush(output);
    sets_.Flush(output);
  }
  // Before anything else is answered.
  void FlushGathered(OutputBuffer& output) {
    gets_.Flush(output);
    sets_.Flush(output);
    meta_gets_.Flush(output);
  }
  // One is kept for the next that needs it.
  std::unique_ptr<PendingMetaSet> TakePendingSet() {
    return spare_set_ != nullptr ? std::move(spare_set_) : std::make_unique<PendingMetaSet>();
  }
  void GivePendingSet(std::unique_ptr<PendingMetaSet> set) noexcept { spare_set_ = std::move(set); }
  metrics::WorkerCounters& counters() noexcept { return counters_; }
  // Null where nobody may watch.
  watch::WatchHub* watch() noexcept { return watch_; }
  std::uint32_t requests_per_turn() const noexcept { return requests_per_turn_; }

  // Around the requests of one batch, for podcache_command_duration_seconds: one look at the clock
  // for all of them.
  void StartBatch() noexcept;
  void CountRequest(metrics::CommandClass command_class) noexcept {
    ++requests_[static_cast<std::size_t>(command_class)];
  }
  void CountMetaRequest(metrics::CommandClass command_class) noexcept {
    CountRequest(command_class);
    ++meta_requests_;
  }
  // `protocol` counts them.
  void EndBatch(metrics::Counter protocol) noexcept;

 private:
  metrics::CounterRegistry& registry_;
  metrics::WorkerCounters& counters_;
  const Clock& clock_;
  const std::uint32_t requests_per_turn_;
  const Authenticator* const authenticator_;
  watch::WatchHub* const watch_;
  std::unique_ptr<store::StoreSession> session_;
  command::EventLog events_;
  command::CommandExecutor executor_;
  command::GetBatch gets_;
  command::SetBatch sets_;
  command::BinaryExecutor binary_executor_;
  command::BinaryGetBatch binary_gets_;
  command::MetaCommand meta_;
  command::MetaGetBatch meta_gets_;
  std::unique_ptr<PendingMetaSet> spare_set_;

  std::array<std::uint32_t, metrics::WorkerCounters::kClasses> requests_{};
  std::uint32_t meta_requests_ = 0;  // Of those.
  std::uint64_t commands_before_;    // Of the counters' previous user.
  bool in_turn_ = false;
  std::chrono::nanoseconds turn_start_{0};
  // When the last batch of this turn was done: the next one's start.
  std::chrono::nanoseconds batch_start_{0};
};

}  // namespace podcache
