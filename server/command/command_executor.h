// Executes parsed requests against the store and says what to reply: the only place that sees both.
//
// Retrieval goes through GetBatch; a storage request comes in two steps, because its value arrives
// in between: Prepare gives room inside the item, Commit publishes it.
//
// Threads: one per worker, used on its thread only. What is passed in outlives it.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "common/base/clock.h"
#include "common/base/output_buffer.h"
#include "server/command/admin_command.h"
#include "server/command/event_log.h"
#include "server/command/long_reply.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/encoders.h"
#include "server/protocol/request.h"
#include "server/store/store.h"

namespace podcache::command {

// How a storage verb writes.
store::WriteMode ModeOf(protocol::Verb verb) noexcept;

class CommandExecutor {
 public:
  CommandExecutor(store::StoreSession& session, metrics::WorkerCounters& counters,
                  AdminCommand& admin, EventLog& events, const Clock& clock) noexcept
      : session_(session), counters_(counters), admin_(admin), events_(events), clock_(clock) {}

  // Time stands still within a batch of requests that arrived together: at most one look at the
  // clock.
  void StartBatch() noexcept { now_seconds_ = 0; }

  store::ReadOptions ReadOptionsFor(const protocol::Request& request) noexcept;

  // One-key and administrative verbs, quit excepted. Their reply is appended, unless noreply; one
  // that is too long for that is returned.
  std::unique_ptr<LongReply> Execute(const protocol::Request& request, OutputBuffer& output);

  // Storage verbs: a reply if the item is refused, then the data block is to be skipped.
  std::optional<protocol::Reply> Prepare(const protocol::Request& request,
                                         store::WriteHandle& handle);
  protocol::Reply Commit(protocol::Verb verb, std::uint64_t compare_cas,
                         store::WriteHandle& handle);
  // The data block did not end as it must; nothing changes.
  protocol::Reply Abandon(store::WriteHandle& handle);

  // The absolute time a client's exptime stands for.
  std::int64_t Absolute(std::int64_t exptime) noexcept;
  // Writes, and tells of it as `verb`.
  store::WriteResult Store(protocol::Verb verb, store::WriteHandle& handle,
                           const store::WriteOptions& options);
  // The time of this batch, in seconds of the Unix epoch.
  std::int64_t Now() noexcept;
  // The counts of a comparing write, and of refused items.
  void CountCas(store::StoreStatus status) noexcept;
  void CountRefusal(store::StoreStatus status) noexcept;
  // The reply for a status, with the counts of refused items.
  protocol::Reply ReplyTo(store::StoreStatus status) noexcept;

 private:
  protocol::Reply Delete(const protocol::Request& request);
  protocol::Reply Touch(const protocol::Request& request);
  void Arithmetic(const protocol::Request& request, OutputBuffer& output);

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  AdminCommand& admin_;
  EventLog& events_;
  const Clock& clock_;
  std::int64_t now_seconds_ = 0;  // 0 = not looked at yet.
};

}  // namespace podcache::command
