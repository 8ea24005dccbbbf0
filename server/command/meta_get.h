// mg: requests in a row are gathered and looked up together, so that the store overlaps their cache
// misses. The answers are the same as one by one, in the order of the requests.
//
// Threads: one worker. Ownership: keys and opaques are views into the receive buffer: Flush before
// it is given up. Invariant: no other command runs while requests are pending.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>

#include "common/base/output_buffer.h"
#include "server/command/command_executor.h"
#include "server/command/event_log.h"
#include "server/metrics/worker_counters.h"
#include "server/protocol/meta_encoder.h"
#include "server/protocol/meta_request.h"
#include "server/store/store.h"

namespace podcache::command {

class MetaGetBatch final : private store::ValueSink {
 public:
  // `common` knows the time of the batch and counts what all protocols count.
  MetaGetBatch(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
               CommandExecutor& common) noexcept
      : session_(session), counters_(counters), events_(events), common_(common) {}

  bool full() const noexcept { return count_ == store::StoreSession::kMaxBatch; }
  // Not when full.
  void Add(const protocol::MetaRequest& request) noexcept;
  // Looks up what is pending and writes the answers.
  void Flush(OutputBuffer& output) {
    if (count_ != 0) Run(output);
  }

 private:
  struct Entry {
    protocol::MetaRequest request;
    protocol::KeyBuffer decoded_key;
  };

  void Run(OutputBuffer& output);
  char* Begin(std::size_t index, const store::ItemMeta& meta) override;
  void End(std::size_t index, const store::ItemMeta& meta) override;
  void Pinned(std::size_t index, const store::ItemMeta& meta,
              std::unique_ptr<PinnedBytes> value) override;
  char* WriteLine(std::size_t index, const store::ItemMeta& meta, char* at) noexcept;
  // Requests before `index` without an answer have found nothing.
  void AnswerMissesBefore(std::size_t index);
  void Count(const protocol::MetaRequest& request, store::StoreStatus status) noexcept;

  store::StoreSession& session_;
  metrics::WorkerCounters& counters_;
  EventLog& events_;
  CommandExecutor& common_;
  std::array<Entry, store::StoreSession::kMaxBatch> entries_;
  std::array<store::DetailedRead, store::StoreSession::kMaxBatch> reads_;
  std::array<store::StoreStatus, store::StoreSession::kMaxBatch> statuses_;
  std::size_t count_ = 0;

  // While the store answers.
  OutputBuffer* output_ = nullptr;
  std::size_t next_ = 0;  // Requests before this one are answered.
  char* item_start_ = nullptr;
  char* item_end_ = nullptr;
};

}  // namespace podcache::command
