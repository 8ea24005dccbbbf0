// Executes requests of the binary protocol against the store and writes their replies: the binary
// side of CommandExecutor, with which it shares time and counts.
//
// Retrieval goes through BinaryGetBatch; a storage request comes in two steps, because its value
// arrives in between.
//
// Threads: one per worker, used on its thread only. What is passed in outlives it.
#pragma once

#include <cstdint>
#include <memory>

#include "common/base/output_buffer.h"
#include "server/command/admin_command.h"
#include "server/command/command_executor.h"
#include "server/command/event_log.h"
#include "server/command/long_reply.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/binary_encoders.h"
#include "server/protocol/binary_request.h"
#include "server/store/store.h"

namespace podcache::command {

class BinaryExecutor {
 public:
  BinaryExecutor(store::StoreSession& session, metrics::WorkerCounters& counters,
                 AdminCommand& admin, EventLog& events, CommandExecutor& common) noexcept
      : session_(session), counters_(counters), admin_(admin), events_(events), common_(common) {}

  store::ReadOptions ReadOptionsFor(const protocol::BinaryRequest& request) noexcept;

  // Everything but retrieval, storage and quit. A reply that is too long to be appended is
  // returned.
  std::unique_ptr<LongReply> Execute(const protocol::BinaryRequest& request, OutputBuffer& output);

  // Storage verbs: false if the item is refused; that is answered, its value is to be skipped.
  bool Prepare(const protocol::BinaryRequest& request, store::WriteHandle& handle,
               OutputBuffer& output);
  void Commit(const protocol::BinaryHead& head, std::uint64_t compare_cas,
              store::WriteHandle& handle, OutputBuffer& output);

  // An error is answered and counted, whatever the request.
  void Refuse(const protocol::BinaryHead& head, protocol::BinaryStatus status,
              OutputBuffer& output);

 private:
  void Touch(const protocol::BinaryRequest& request, OutputBuffer& output);
  void Delete(const protocol::BinaryRequest& request, OutputBuffer& output);
  void Arithmetic(const protocol::BinaryRequest& request, OutputBuffer& output);
  void Flush(const protocol::BinaryRequest& request, OutputBuffer& output);
  // The reply for a status without a body, and its counts. Success is hidden where it is quiet.
  void Reply(const protocol::BinaryHead& head, store::StoreStatus status, std::uint64_t cas,
             OutputBuffer& output);

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  AdminCommand& admin_;
  EventLog& events_;
  CommandExecutor& common_;
};

}  // namespace podcache::command
