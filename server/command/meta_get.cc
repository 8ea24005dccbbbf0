#include "server/command/meta_get.h"

#include <cstring>
#include <span>
#include <utility>

#include "common/base/check.h"
#include "server/command/answer.h"
#include "server/command/expiry.h"
#include "server/command/meta_item.h"
#include "server/protocol/encoders.h"

namespace podcache::command {

using metrics::Counter;
using protocol::kLineEnd;
using protocol::MetaRequest;
using protocol::MetaStatus;
using store::Lease;
using store::StoreStatus;

namespace {

store::DetailedRead ReadFor(const MetaRequest& request, CommandExecutor& common) noexcept {
  const protocol::MetaFlags& flags = request.flags;
  store::DetailedRead read;
  read.want_value = flags.Has('v');
  read.want_cas = flags.Has('c');
  read.counts_as_use = !flags.Has('u');
  read.skip_known = flags.Has('C');
  read.known_cas = request.compare_cas;
  read.set_exptime = flags.Has('T');
  if (read.set_exptime) read.exptime = common.Absolute(request.exptime);
  read.recache = flags.Has('R');
  if (read.recache) {
    read.recache_before = common.Absolute(request.recache_exptime);
    read.recache_after_set = flags.InOrder('T', 'R');
  }
  read.create = flags.Has('N');
  if (read.create) {
    read.create_exptime = VivifyExptime(request, common);
    read.create_cas = request.set_cas;
  }
  return read;
}

void CountLease(Lease lease, Counter vivify, metrics::WorkerCounters& counters) noexcept {
  if (lease == Lease::kNone) return;
  const auto kind = static_cast<unsigned>(lease) - static_cast<unsigned>(Lease::kVivify);
  counters.Add(static_cast<Counter>(static_cast<unsigned>(vivify) + kind));
}
static_assert(static_cast<int>(Counter::kStaleWins) - static_cast<int>(Counter::kVivifyWins) ==
              static_cast<int>(Lease::kStale) - static_cast<int>(Lease::kVivify));
static_assert(static_cast<int>(Counter::kStaleWaits) - static_cast<int>(Counter::kVivifyWaits) ==
              static_cast<int>(Lease::kStale) - static_cast<int>(Lease::kVivify));

}  // namespace

void MetaGetBatch::Add(const MetaRequest& request) noexcept {
  PODCACHE_DCHECK(!full());
  Entry& entry = entries_[count_];
  entry.request = request;
  if (request.binary_key()) {
    std::memcpy(entry.decoded_key.data(), request.key.data(), request.key.size());
    entry.request.key = {entry.decoded_key.data(), request.key.size()};
  }
  reads_[count_] = ReadFor(request, common_);
  reads_[count_].key = session_.MakeKey(entry.request.key);
  ++count_;
}

void MetaGetBatch::Run(OutputBuffer& output) {
  output_ = &output;
  next_ = 0;
  if (events_.watches(protocol::kFetchers)) {
    for (std::size_t i = 0; i < count_; ++i) events_.Lookup(reads_[i].key);
  }
  const std::span statuses(statuses_.data(), count_);
  session_.GetDetailed(std::span<const store::DetailedRead>(reads_.data(), count_), *this,
                       statuses);
  AnswerMissesBefore(count_);
  for (std::size_t i = 0; i < count_; ++i) Count(entries_[i].request, statuses[i]);
  count_ = 0;
}

char* MetaGetBatch::WriteLine(std::size_t index, const store::ItemMeta& meta, char* at) noexcept {
  const MetaRequest& request = entries_[index].request;
  protocol::MetaItem item = ItemFor(meta, common_.Now());
  SetNewTtls(request, common_, item);
  return protocol::WriteMetaLine(at, MetaStatus::kOk, request, item);
}

char* MetaGetBatch::Begin(std::size_t index, const store::ItemMeta& meta) {
  AnswerMissesBefore(index);
  // Nothing is committed before End: an item begun again simply starts over.
  const std::size_t value_bytes = meta.has_value ? meta.value_bytes + kLineEnd.size() : 0;
  item_start_ = output_->Reserve(protocol::kMaxMetaLineBytes + value_bytes);
  char* const value = WriteLine(index, meta, item_start_);
  item_end_ = value + value_bytes;
  return value;
}

void MetaGetBatch::End(std::size_t index, const store::ItemMeta& meta) {
  if (meta.has_value) {
    std::memcpy(item_end_ - kLineEnd.size(), kLineEnd.data(), kLineEnd.size());
  }
  output_->Commit(static_cast<std::size_t>(item_end_ - item_start_));
  CountLease(meta.won, Counter::kVivifyWins, counters_);
  CountLease(meta.held, Counter::kVivifyWaits, counters_);
  next_ = index + 1;
}

void MetaGetBatch::Pinned(std::size_t index, const store::ItemMeta& meta,
                          std::unique_ptr<PinnedBytes> value) {
  AnswerMissesBefore(index);
  char* const start = output_->Reserve(protocol::kMaxMetaLineBytes);
  output_->Commit(static_cast<std::size_t>(WriteLine(index, meta, start) - start));
  output_->AppendPinned(std::move(value));
  output_->Append(kLineEnd);
  CountLease(meta.won, Counter::kVivifyWins, counters_);
  CountLease(meta.held, Counter::kVivifyWaits, counters_);
  next_ = index + 1;
}

void MetaGetBatch::AnswerMissesBefore(std::size_t index) {
  for (; next_ < index; ++next_) {
    const MetaRequest& request = entries_[next_].request;
    if (statuses_[next_] == StoreStatus::kOutOfMemory) {
      protocol::AppendReply(protocol::Reply::kOutOfMemory, *output_);
    } else if (!request.quiet()) {
      protocol::AppendMetaLine(MetaStatus::kMiss, request, {}, *output_);
    }
  }
}

// A hit that also sets the expiry counts as a touch only, as in memcached.
void MetaGetBatch::Count(const MetaRequest& request, StoreStatus status) noexcept {
  const bool hit = status == StoreStatus::kOk;
  if (hit && request.flags.Has('T')) {
    counters_.Add(Counter::kCmdTouch);
    counters_.Add(Counter::kTouchHits);
    return;
  }
  counters_.Add(Counter::kCmdGet);
  counters_.Add(hit ? Counter::kGetHits : Counter::kGetMisses);
  if (status != StoreStatus::kOutOfMemory) return;
  common_.CountRefusal(status);
  counters_.Add(Counter::kMetaErrors);
}

}  // namespace podcache::command
