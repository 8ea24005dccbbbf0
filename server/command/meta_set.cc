// ms, of MetaCommand.
#include "server/command/meta_command.h"

namespace podcache::command {

using metrics::Counter;
using protocol::MetaRequest;
using protocol::MetaStatus;
using protocol::Reply;
using protocol::Verb;
using store::StoreStatus;
using store::WriteMode;

namespace {

bool Concatenates(const MetaRequest& request) noexcept {
  return request.mode == 'A' || request.mode == 'P';
}

WriteMode ModeOf(const MetaRequest& request) noexcept {
  switch (request.mode) {
    case 'E':
      return WriteMode::kAdd;
    case 'A':
      return WriteMode::kAppend;
    case 'P':
      return WriteMode::kPrepend;
    case 'R':
      return request.flags.Has('C') ? WriteMode::kCas : WriteMode::kReplace;
    default:
      return request.flags.Has('C') ? WriteMode::kCas : WriteMode::kSet;
  }
}

// The classic command that does the same, for those who watch.
Verb VerbOf(WriteMode mode) noexcept {
  switch (mode) {
    case WriteMode::kAdd:
      return Verb::kAdd;
    case WriteMode::kReplace:
      return Verb::kReplace;
    case WriteMode::kAppend:
      return Verb::kAppend;
    case WriteMode::kPrepend:
      return Verb::kPrepend;
    case WriteMode::kCas:
      return Verb::kCas;
    default:
      return Verb::kSet;
  }
}

MetaStatus MetaStatusOf(StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kStored:
      return MetaStatus::kOk;
    case StoreStatus::kExists:
      return MetaStatus::kExists;
    case StoreStatus::kNotFound:
      return MetaStatus::kNotFound;
    default:
      return MetaStatus::kNotStored;
  }
}

}  // namespace

bool MetaCommand::Prepare(const MetaRequest& request, store::WriteHandle& handle,
                          OutputBuffer& output) {
  // An item that is appended to keeps its expiry; one that is made for it has that of N.
  const std::int32_t exptime = Concatenates(request) ? request.vivify_exptime : request.exptime;
  const store::Key key = session_.MakeKey(request.key);
  const std::int64_t absolute = common_.Absolute(exptime);
  const StoreStatus status =
      session_.Prepare(key, request.value_bytes, request.client_flags, absolute, handle);
  if (handle.valid()) return true;
  events_.Stored(request.key, VerbOf(ModeOf(request)), status, absolute, request.value_bytes);
  events_.Lookup(key);
  // Nobody must get a value that the client thinks it has changed; in every mode, as in memcached.
  session_.Delete(key);
  AnswerRefusal(status, output);
  return false;
}

void MetaCommand::Commit(const MetaRequest& request, store::WriteHandle& handle,
                         OutputBuffer& output) {
  const protocol::MetaFlags& flags = request.flags;
  store::WriteOptions options;
  options.mode = ModeOf(request);
  options.compare_cas = request.compare_cas;
  options.want_cas = flags.Has('c');
  options.stale_if_older = flags.Has('I') && request.compare_cas != 0;
  options.create = flags.Has('N');
  options.set_cas = request.set_cas;
  const store::WriteResult result = common_.Store(VerbOf(options.mode), handle, options);
  counters_.Add(Counter::kCmdSet);
  if (options.mode == WriteMode::kCas) common_.CountCas(result.status);
  if (result.status == StoreStatus::kTooLarge || result.status == StoreStatus::kOutOfMemory)
    return AnswerRefusal(result.status, output);
  const MetaStatus status = MetaStatusOf(result.status);
  if (request.quiet() && status == MetaStatus::kOk) return;
  protocol::MetaItem item;
  item.cas = result.cas;
  item.value_bytes = status == MetaStatus::kOk ? result.value_bytes : request.value_bytes;
  protocol::AppendMetaLine(status, request, item, output);
}

void MetaCommand::Abandon(store::WriteHandle& handle, OutputBuffer& output) {
  handle = store::WriteHandle();
  counters_.Add(Counter::kCmdSet);
  Answer(Reply::kBadDataChunk, output);
}

}  // namespace podcache::command
