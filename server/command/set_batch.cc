#include "server/command/set_batch.h"

#include "server/command/answer.h"

namespace podcache::command {

using store::StoreStatus;

void SetBatch::Run(OutputBuffer& output) {
  std::array<StoreStatus, store::StoreSession::kMaxBatch> statuses;
  session_.Set({items_.data(), count_}, statuses);
  std::uint64_t taken = count_;
  for (std::uint32_t i = 0; i < count_; ++i) {
    // An item that is too large does not count as a command, only as a refusal.
    if (statuses[i] == StoreStatus::kTooLarge) --taken;
    Answer(executor_.ReplyTo(statuses[i]), false, counters_, output);
  }
  counters_.Add(metrics::Counter::kCmdSet, taken);
  count_ = 0;
}

}  // namespace podcache::command
