#include "server/command/meta_command.h"

#include "server/command/expiry.h"
#include "server/command/meta_item.h"

namespace podcache::command {

using metrics::Counter;
using protocol::MetaItem;
using protocol::MetaRequest;
using protocol::MetaStatus;
using protocol::MetaVerb;
using protocol::Reply;
using store::StoreStatus;

namespace {

// Nothing for what is answered by an error line.
std::optional<MetaStatus> MetaStatusOf(StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kOk:
    case StoreStatus::kStored:
      return MetaStatus::kOk;
    case StoreStatus::kNotStored:
      return MetaStatus::kNotStored;
    case StoreStatus::kExists:
      return MetaStatus::kExists;
    case StoreStatus::kNotFound:
      return MetaStatus::kNotFound;
    default:
      return std::nullopt;
  }
}

// Only what a client expects anyway is left out.
bool IsHidden(const MetaRequest& request, MetaStatus status) noexcept {
  return request.quiet() && status == MetaStatus::kOk;
}

// Keeps what it is told of the one item that is read.
class DebugSink final : public store::ValueSink {
 public:
  char* Begin(std::size_t, const store::ItemMeta& meta) override {
    meta_ = meta;
    return nullptr;
  }
  void End(std::size_t, const store::ItemMeta&) override {}
  void Pinned(std::size_t, const store::ItemMeta&, std::unique_ptr<PinnedBytes>) override {}
  const store::ItemMeta& meta() const noexcept { return meta_; }

 private:
  store::ItemMeta meta_;
};

}  // namespace

void MetaCommand::Execute(const MetaRequest& request, OutputBuffer& output) {
  switch (request.verb) {
    case MetaVerb::kDelete:
      return Delete(request, output);
    case MetaVerb::kArithmetic:
      return Arithmetic(request, output);
    case MetaVerb::kDebug:
      return Debug(request, output);
    default:
      return Answer(Reply::kMetaNoop, output);
  }
}

void MetaCommand::Answer(Reply reply, OutputBuffer& output) {
  if (protocol::IsError(reply)) counters_.Add(Counter::kMetaErrors);
  protocol::AppendReply(reply, output);
}

void MetaCommand::AnswerRefusal(StoreStatus status, OutputBuffer& output) {
  common_.CountRefusal(status);
  switch (status) {
    case StoreStatus::kTooLarge:
      return Answer(Reply::kTooLarge, output);
    case StoreStatus::kNotNumeric:
      return Answer(Reply::kNotNumeric, output);
    default:
      return Answer(Reply::kOutOfMemory, output);
  }
}

void MetaCommand::Delete(const MetaRequest& request, OutputBuffer& output) {
  const protocol::MetaFlags& flags = request.flags;
  store::InvalidateOptions options;
  options.mark_stale = flags.Has('I');
  options.drop_value = flags.Has('x');
  options.client_flags = request.client_flags;
  options.compare = flags.Has('C');
  options.compare_cas = request.compare_cas;
  options.set_cas = request.set_cas;
  options.set_exptime = flags.Has('T');
  if (options.set_exptime) options.exptime = common_.Absolute(request.exptime);
  const store::Key key = session_.MakeKey(request.key);
  const store::Glimpse before = events_.Lookup(key);
  const StoreStatus result = session_.Invalidate(key, options);
  if (result == StoreStatus::kOk) {
    // Dropping the value is a write of an empty item; unless it is stale, it counts as gone too.
    if (options.drop_value) {
      events_.Stored(key.bytes, protocol::Verb::kSet, StoreStatus::kStored, options.exptime, 0);
    }
    if (!options.mark_stale) {
      events_.Deleted(key, "md", options.drop_value ? store::Glimpse() : before);
    }
  }
  const std::optional<MetaStatus> status = MetaStatusOf(result);
  if (!status) return AnswerRefusal(result, output);
  if (*status != MetaStatus::kOk) {
    counters_.Add(Counter::kDeleteMisses);
  } else if (!options.mark_stale) {
    counters_.Add(Counter::kDeleteHits);
  }
  if (!IsHidden(request, *status)) protocol::AppendMetaLine(*status, request, {}, output);
}

void MetaCommand::Arithmetic(const MetaRequest& request, OutputBuffer& output) {
  const protocol::MetaFlags& flags = request.flags;
  store::ArithmeticOptions options;
  options.increment = request.mode != 'D' && request.mode != '-';
  options.delta = request.delta;
  options.compare_cas = request.compare_cas;
  options.want_cas = flags.Has('c');
  options.set_cas = request.set_cas;
  options.create = flags.Has('N');
  options.initial = request.initial;
  if (options.create) options.exptime = VivifyExptime(request, common_);
  options.set_exptime = flags.Has('T');
  if (options.set_exptime) options.new_exptime = common_.Absolute(request.exptime);
  const store::Key key = session_.MakeKey(request.key);
  events_.Lookup(key);
  const store::ArithmeticResult result = session_.Arithmetic(key, options);
  CountArithmetic(options.increment, result);
  const std::optional<MetaStatus> status = MetaStatusOf(result.status);
  if (!status) return AnswerRefusal(result.status, output);
  MetaItem item;
  if (*status != MetaStatus::kOk) return AppendMetaLine(*status, request, item, output);
  const protocol::NumberText number(result.value);
  if (result.created) {
    events_.Stored(key.bytes, protocol::Verb::kAdd, StoreStatus::kStored, options.exptime,
                   number.text().size());
  }
  if (IsHidden(request, *status)) return;
  item.cas = result.cas;
  item.created = result.created;
  item.ttl = SecondsLeft(result.exptime_before, common_.Now());
  SetNewTtls(request, common_, item);
  item.has_value = flags.Has('v');
  item.value_bytes = number.text().size();
  protocol::AppendMetaLine(*status, request, item, output);
  if (!item.has_value) return;
  output.Append(number.text());
  output.Append(protocol::kLineEnd);
}

// An item that is created counts as neither.
void MetaCommand::CountArithmetic(bool increment, const store::ArithmeticResult& result) noexcept {
  if (result.status == StoreStatus::kNotFound) {
    counters_.Add(increment ? Counter::kIncrMisses : Counter::kDecrMisses);
  } else if (result.status == StoreStatus::kOk && !result.created) {
    counters_.Add(increment ? Counter::kIncrHits : Counter::kDecrHits);
  }
}

void MetaCommand::Debug(const MetaRequest& request, OutputBuffer& output) {
  store::DetailedRead read;
  read.key = session_.MakeKey(request.key);
  events_.Lookup(read.key);
  read.counts_as_use = false;
  read.may_win = false;
  read.want_cas = true;
  read.want_item_bytes = true;
  DebugSink sink;
  StoreStatus status = StoreStatus::kNotFound;
  session_.GetDetailed({&read, 1}, sink, {&status, 1});
  counters_.Add(Counter::kCmdMeta);
  if (status != StoreStatus::kOk) return Answer(Reply::kMetaMiss, output);
  protocol::AppendMetaDebugLine(request, ItemFor(sink.meta(), common_.Now()), output);
}

}  // namespace podcache::command
