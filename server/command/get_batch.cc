#include "server/command/get_batch.h"

#include <cstring>
#include <utility>

#include "server/protocol/encoders.h"

namespace podcache::command {

using protocol::kEndLine;
using protocol::kLineEnd;

void GetBatch::Run(OutputBuffer& output) {
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
  char* end = value_end_;
  std::memcpy(end, kLineEnd.data(), kLineEnd.size());
  end += kLineEnd.size();
  if (EndsLine(index)) {
    std::memcpy(end, kEndLine.data(), kEndLine.size());
    end += kEndLine.size();
  }
  output_->Commit(static_cast<std::size_t>(end - item_start_));
  next_ = index + 1;
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
  EndLinesBefore(index + 1);
}

void GetBatch::EndLinesBefore(std::size_t index) {
  for (; next_ < index; ++next_) {
    if (EndsLine(next_)) output_->Append(kEndLine);
  }
}

}  // namespace podcache::command
