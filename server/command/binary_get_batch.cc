#include "server/command/binary_get_batch.h"

#include <utility>

#include "server/protocol/binary_encoders.h"

namespace podcache::command {

using protocol::kMaxBinaryItemHeadBytes;

void BinaryGetBatch::Add(const protocol::BinaryRequest& request,
                         const store::ReadOptions& options) noexcept {
  heads_[batch_.size()] = request.head;
  batch_.Add(request.key, options);
}

void BinaryGetBatch::Flush(OutputBuffer& output) {
  if (batch_.size() == 0) return;
  output_ = &output;
  next_ = 0;
  batch_.LookUp(*this);
  AnswerMissesBefore(batch_.size());
  batch_.Clear();
}

char* BinaryGetBatch::WriteHead(char* at, std::size_t index,
                                const store::ItemMeta& meta) const noexcept {
  return protocol::WriteBinaryItemHead(at, heads_[index], batch_.key(index).bytes,
                                       meta.client_flags, meta.value_bytes, meta.cas);
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
      protocol::AppendBinaryMiss(heads_[next_], batch_.key(next_).bytes, *output_);
  }
}

}  // namespace podcache::command
