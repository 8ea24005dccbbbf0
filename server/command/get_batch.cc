#include "server/command/get_batch.h"

#include <algorithm>
#include <cstring>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using metrics::Counter;
using protocol::kEndLine;
using protocol::kLineEnd;

void GetBatch::Add(std::string_view key, const store::ReadOptions& options) noexcept {
  PODCACHE_DCHECK(!full() && Accepts(options));
  options_ = options;
  keys_[count_++] = session_.MakeKey(key);
}

void GetBatch::EndLine(OutputBuffer& output) {
  if (count_ == 0) {
    output.Append(kEndLine);
  } else {
    line_ends_ |= 1U << (count_ - 1);
  }
}

void GetBatch::Flush(OutputBuffer& output) {
  if (count_ == 0) return;
  output_ = &output;
  next_ = 0;
  if (events_.watches(protocol::kFetchers)) {
    for (std::uint32_t i = 0; i < count_; ++i) events_.Lookup(keys_[i]);
  }
  const std::span statuses(statuses_.data(), count_);
  session_.Get(std::span<const store::Key>(keys_.data(), count_), options_, *this, statuses);
  EndLinesBefore(count_);
  Count(static_cast<std::size_t>(std::ranges::count(statuses, store::StoreStatus::kOk)));
  prefixes_.CountGets({keys_.data(), count_}, statuses);
  count_ = 0;
  line_ends_ = 0;
}

char* GetBatch::Begin(std::size_t index, const store::ItemMeta& meta) {
  EndLinesBefore(index);
  // Nothing is committed before End: an item begun again simply starts over.
  item_start_ = output_->Reserve(protocol::kMaxValueHeaderBytes + meta.value_bytes +
                                 kLineEnd.size() + kEndLine.size());
  char* const value =
      protocol::WriteValueHeader(item_start_, keys_[index].bytes, meta.client_flags,
                                 meta.value_bytes, options_.want_cas ? &meta.cas : nullptr);
  value_end_ = value + meta.value_bytes;
  return value;
}

void GetBatch::End(std::size_t index, const store::ItemMeta&) {
  std::memcpy(value_end_, kLineEnd.data(), kLineEnd.size());
  output_->Commit(static_cast<std::size_t>(value_end_ - item_start_) + kLineEnd.size());
  FinishItem(index);
}

void GetBatch::Pinned(std::size_t index, const store::ItemMeta& meta,
                      std::unique_ptr<PinnedBytes> value) {
  EndLinesBefore(index);
  char* const start = output_->Reserve(protocol::kMaxValueHeaderBytes);
  const char* const end =
      protocol::WriteValueHeader(start, keys_[index].bytes, meta.client_flags, meta.value_bytes,
                                 options_.want_cas ? &meta.cas : nullptr);
  output_->Commit(static_cast<std::size_t>(end - start));
  output_->AppendPinned(std::move(value));
  output_->Append(kLineEnd);
  FinishItem(index);
}

void GetBatch::EndLinesBefore(std::size_t index) {
  for (; next_ < index; ++next_) {
    if ((line_ends_ >> next_ & 1U) != 0) output_->Append(kEndLine);
  }
}

void GetBatch::FinishItem(std::size_t index) {
  PODCACHE_DCHECK(index == next_);
  EndLinesBefore(index + 1);
}

void GetBatch::Count(std::size_t hits) noexcept {
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
