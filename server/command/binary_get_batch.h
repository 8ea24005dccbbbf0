// Gathers consecutive retrieval requests of the binary protocol and looks their keys up together,
// so that the store overlaps their cache misses. The replies are the same as one by one.
//
// Threads: one worker. Ownership: keys are views into the receive buffer: Flush before it is given
// up. Invariant: no other command runs while requests are pending.
#pragma once

#include <array>
#include <cstddef>
#include <memory>

#include "common/base/output_buffer.h"
#include "server/command/key_batch.h"
#include "server/protocol/binary_request.h"
#include "server/store/store.h"

namespace podcache::command {

class BinaryGetBatch final : private store::ValueSink {
 public:
  BinaryGetBatch(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
                 PrefixStats& prefixes) noexcept
      : batch_(session, counters, events, prefixes) {}

  // A request with other options must wait until what is pending is flushed.
  bool Accepts(const store::ReadOptions& options) const noexcept { return batch_.Accepts(options); }
  bool full() const noexcept { return batch_.full(); }

  // Neither when full nor with options that are not accepted.
  void Add(const protocol::BinaryRequest& request, const store::ReadOptions& options) noexcept;
  // Looks up what is pending and writes the replies.
  void Flush(OutputBuffer& output);

 private:
  char* Begin(std::size_t index, const store::ItemMeta& meta) override;
  void End(std::size_t index, const store::ItemMeta& meta) override;
  void Pinned(std::size_t index, const store::ItemMeta& meta,
              std::unique_ptr<PinnedBytes> value) override;
  // Answers what was not found before `index`.
  void AnswerMissesBefore(std::size_t index);
  char* WriteHead(char* at, std::size_t index, const store::ItemMeta& meta) const noexcept;

  KeyBatch batch_;
  std::array<protocol::BinaryHead, store::StoreSession::kMaxBatch> heads_;

  // While the store answers.
  OutputBuffer* output_ = nullptr;
  std::size_t next_ = 0;  // Requests before this one are answered.
  std::size_t item_bytes_ = 0;
};

}  // namespace podcache::command
