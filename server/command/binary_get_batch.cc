#include "server/command/binary_get_batch.h"

#include <algorithm>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "server/protocol/binary_encoders.h"

namespace podcache::command {

using metrics::Counter;
using protocol::kMaxBinaryItemHeadBytes;

void BinaryGetBatch::Add(const protocol::BinaryRequest& request,
                         const store::ReadOptions& options) noexcept {
  PODCACHE_DCHECK(!full() && Accepts(options));
  options_ = options;
  heads_[count_] = request.head;
  keys_[count_++] = session_.MakeKey(request.key);
}

void BinaryGetBatch::Flush(OutputBuffer& output) {
  if (count_ == 0) return;
  if (events_.watches(protocol::kFetchers)) {
    for (std::size_t i = 0; i < count_; ++i) events_.Lookup(keys_[i]);
  }
  output_ = &output;
  next_ = 0;
  const std::span statuses(statuses_.data(), count_);
  session_.Get(std::span<const store::Key>(keys_.data(), count_), options_, *this, statuses);
  AnswerMissesBefore(count_);
  Count(static_cast<std::size_t>(std::ranges::count(statuses, store::StoreStatus::kOk)));
  prefixes_.CountGets({keys_.data(), count_}, statuses);
  count_ = 0;
}

char* BinaryGetBatch::WriteHead(char* at, std::size_t index,
                                const store::ItemMeta& meta) const noexcept {
  return protocol::WriteBinaryItemHead(at, heads_[index], keys_[index].bytes, meta.client_flags,
                                       meta.value_bytes, meta.cas);
}

char* BinaryGetBatch::Begin(std::size_t index, const store::ItemMeta& meta) {
  AnswerMissesBefore(index);
  // Nothing is committed before End: an item begun again simply starts over.
  char* const start = output_->Reserve(kMaxBinaryItemHeadBytes + meta.value_bytes);
  char* const value = WriteHead(start, index, meta);
  item_bytes_ = static_cast<std::size_t>(value - start) + meta.value_bytes;
  return value;
}

void BinaryGetBatch::End(std::size_t index, const store::ItemMeta&) {
  output_->Commit(item_bytes_);
  next_ = index + 1;
}

void BinaryGetBatch::Pinned(std::size_t index, const store::ItemMeta& meta,
                            std::unique_ptr<PinnedBytes> value) {
  AnswerMissesBefore(index);
  char* const start = output_->Reserve(kMaxBinaryItemHeadBytes);
  output_->Commit(static_cast<std::size_t>(WriteHead(start, index, meta) - start));
  output_->AppendPinned(std::move(value));
  next_ = index + 1;
}

void BinaryGetBatch::AnswerMissesBefore(std::size_t index) {
  for (; next_ < index; ++next_) {
    if (!heads_[next_].quiet)
      protocol::AppendBinaryMiss(heads_[next_], keys_[next_].bytes, *output_);
  }
}

void BinaryGetBatch::Count(std::size_t hits) noexcept {
  const std::size_t misses = count_ - hits;
  if (options_.set_exptime) {
    counters_.Add(Counter::kCmdTouch, count_);
    counters_.Add(Counter::kTouchHits, hits);
    counters_.Add(Counter::kTouchMisses, misses);
    return;
  }
  counters_.Add(Counter::kCmdGet, count_);
  counters_.Add(Counter::kGetHits, hits);
  counters_.Add(Counter::kGetMisses, misses);
}

}  // namespace podcache::command
