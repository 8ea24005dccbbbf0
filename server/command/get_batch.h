// Gathers the keys of consecutive retrieval requests and looks them up together, so that the store
// overlaps their cache misses. The replies are the same as one by one.
//
// Threads: one worker. Ownership: keys are views into the receive buffer: Flush before it is given
// up. Invariant: no other command runs while keys are pending.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string_view>

#include "common/base/output_buffer.h"
#include "server/command/key_batch.h"
#include "server/protocol/encoders.h"
#include "server/store/store.h"

namespace podcache::command {

class GetBatch final : private store::ValueSink {
 public:
  GetBatch(store::StoreSession& session, metrics::WorkerCounters& counters, EventLog& events,
           PrefixStats& prefixes) noexcept
      : batch_(session, counters, events, prefixes) {}

  // Keys with other options must be flushed before.
  bool Accepts(const store::ReadOptions& options) const noexcept { return batch_.Accepts(options); }
  bool full() const noexcept { return batch_.full(); }

  // Neither when full nor with options that are not accepted.
  void Add(std::string_view key, const store::ReadOptions& options) noexcept {
    batch_.Add(key, options);
  }
  // The retrieval line of the last added key is complete. With no key pending, its keys were
  // flushed before.
  void EndLine(OutputBuffer& output) {
    if (batch_.size() == 0) {
      output.Append(protocol::kEndLine);
    } else {
      line_ends_ |= 1U << (batch_.size() - 1);
    }
  }
  // Looks up what is pending and writes the replies.
  void Flush(OutputBuffer& output) {
    if (batch_.size() != 0) Run(output);
  }

 private:
  void Run(OutputBuffer& output);
  char* Begin(std::size_t index, const store::ItemMeta& meta) override;
  void End(std::size_t index, const store::ItemMeta& meta) override;
  void Pinned(std::size_t index, const store::ItemMeta& meta,
              std::unique_ptr<PinnedBytes> value) override;
  // Ends the lines whose last keys, before `index`, were misses.
  void EndLinesBefore(std::size_t index);
  bool EndsLine(std::size_t index) const noexcept { return (line_ends_ >> index & 1U) != 0; }

  KeyBatch batch_;
  std::uint32_t line_ends_ = 0;  // Bit i: key i is the last of its line.

  // While the store answers.
  OutputBuffer* output_ = nullptr;
  std::size_t next_ = 0;  // Keys before this one are answered.
  char* item_start_ = nullptr;
  char* value_end_ = nullptr;
};

}  // namespace podcache::command
