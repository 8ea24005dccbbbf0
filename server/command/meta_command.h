// The meta commands on one key other than mg: ms in two steps, because its value arrives in
// between, md, ma, me; and mn.
//
// Threads: one per worker, used on its thread only.
// Source: protocol.md 3.
#pragma once

#include <cstdint>
#include <optional>

#include "common/base/output_buffer.h"
#include "server/command/command_executor.h"
#include "server/command/event_log.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/encoders.h"
#include "server/protocol/meta_encoder.h"
#include "server/protocol/meta_request.h"
#include "server/store/store.h"

namespace podcache::command {

class MetaCommand {
 public:
  // `common` knows the time of the batch and counts what all protocols count.
  MetaCommand(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
              CommandExecutor& common) noexcept
      : session_(session), counters_(counters), events_(events), common_(common) {}

  // md, ma, me, mn: the answer is appended unless the request is quiet about it.
  void Execute(const protocol::MetaRequest& request, OutputBuffer& output);

  // ms: false if the item is refused, which is then answered; the data block is to be skipped.
  bool Prepare(const protocol::MetaRequest& request, store::WriteHandle& handle,
               OutputBuffer& output);
  void Commit(const protocol::MetaRequest& request, store::WriteHandle& handle,
              OutputBuffer& output);
  // The data block did not end as it must; nothing changes.
  void Abandon(store::WriteHandle& handle, OutputBuffer& output);

  // An answer without return flags; errors are counted.
  void Answer(protocol::Reply reply, OutputBuffer& output);

 private:
  void Delete(const protocol::MetaRequest& request, OutputBuffer& output);
  void Arithmetic(const protocol::MetaRequest& request, OutputBuffer& output);
  void Debug(const protocol::MetaRequest& request, OutputBuffer& output);
  // Of what the store refuses, whatever the command.
  void AnswerRefusal(store::StoreStatus status, OutputBuffer& output);
  void CountArithmetic(bool increment, const store::ArithmeticResult& result) noexcept;

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  EventLog& events_;
  CommandExecutor& common_;
};

}  // namespace podcache::command
