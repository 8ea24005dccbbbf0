#include "server/command/get_batch.h"

#include <cstring>
#include <utility>

#include "common/base/check.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using protocol::kEndLine;
using protocol::kLineEnd;

void GetBatch::Add(std::string_view key, const store::ReadOptions& options) noexcept {
  batch_.Add(key, options);
}

void GetBatch::EndLine(OutputBuffer& output) {
  if (batch_.size() == 0) {
    output.Append(kEndLine);
  } else {
    line_ends_ |= 1U << (batch_.size() - 1);
  }
}

void GetBatch::Flush(OutputBuffer& output) {
  if (batch_.size() == 0) return;
  output_ = &output;
  next_ = 0;
  batch_.LookUp(*this);
  EndLinesBefore(batch_.size());
  batch_.Clear();
  line_ends_ = 0;
}

char* GetBatch::Begin(std::size_t index, const store::ItemMeta& meta) {
  EndLinesBefore(index);
  // Nothing is committed before End: an item begun again simply starts over.
  item_start_ = output_->Reserve(protocol::kMaxValueHeaderBytes + meta.value_bytes +
                                 kLineEnd.size() + kEndLine.size());
  char* const value =
      protocol::WriteValueHeader(item_start_, batch_.key(index).bytes, meta.client_flags,
                                 meta.value_bytes, batch_.options().want_cas ? &meta.cas : nullptr);
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
      protocol::WriteValueHeader(start, batch_.key(index).bytes, meta.client_flags,
                                 meta.value_bytes, batch_.options().want_cas ? &meta.cas : nullptr);
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

}  // namespace podcache::command
