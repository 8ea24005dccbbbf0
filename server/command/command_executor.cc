#include "server/command/command_executor.h"

#include <utility>

#include "common/base/check.h"
#include "server/command/answer.h"
#include "server/command/expiry.h"

namespace podcache::command {

using metrics::Counter;
using protocol::Reply;
using protocol::Request;
using protocol::Verb;
using store::StoreStatus;

store::WriteMode ModeOf(Verb verb) noexcept {
  switch (verb) {
    case Verb::kAdd:
      return store::WriteMode::kAdd;
    case Verb::kReplace:
      return store::WriteMode::kReplace;
    case Verb::kAppend:
      return store::WriteMode::kAppend;
    case Verb::kPrepend:
      return store::WriteMode::kPrepend;
    case Verb::kCas:
      return store::WriteMode::kCas;
    default:
      return store::WriteMode::kSet;
  }
}

namespace {

Reply ReplyFor(StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kOk:
      return Reply::kOk;
    case StoreStatus::kStored:
      return Reply::kStored;
    case StoreStatus::kNotStored:
      return Reply::kNotStored;
    case StoreStatus::kExists:
      return Reply::kExists;
    case StoreStatus::kNotFound:
      return Reply::kNotFound;
    case StoreStatus::kTooLarge:
      return Reply::kTooLarge;
    case StoreStatus::kOutOfMemory:
      return Reply::kOutOfMemory;
    case StoreStatus::kNotNumeric:
      return Reply::kNotNumeric;
  }
  return Reply::kError;
}

}  // namespace

store::ReadOptions CommandExecutor::ReadOptionsFor(const Request& request) noexcept {
  store::ReadOptions options;
  options.want_cas = protocol::ReturnsCas(request.verb);
  options.set_exptime = protocol::SetsExptime(request.verb);
  if (options.set_exptime) options.exptime = Absolute(request.exptime);
  return options;
}

std::unique_ptr<LongReply> CommandExecutor::Execute(const Request& request, OutputBuffer& output) {
  switch (request.verb) {
    case Verb::kDelete:
    case Verb::kTouch: {
      const Reply reply = request.verb == Verb::kDelete ? Delete(request) : Touch(request);
      Answer(reply, request.noreply, counters_, output);
      return nullptr;
    }
    case Verb::kIncr:
    case Verb::kDecr:
      Arithmetic(request, output);
      return nullptr;
    default:
      return admin_.Execute(request, counters_, output);
  }
}

std::optional<Reply> CommandExecutor::Prepare(const Request& request, store::WriteHandle& handle) {
  const store::Key key = session_.MakeKey(request.key);
  admin_.prefixes().CountSet(request.key);
  const StoreStatus status = session_.Prepare(key, request.value_bytes, request.client_flags,
                                              Absolute(request.exptime), handle);
  if (handle.valid()) return std::nullopt;
  events_.Stored(request.key, request.verb, status, Absolute(request.exptime), request.value_bytes);
  // A reader must not get the value that this one was meant to replace.
  if (request.verb == Verb::kSet) {
    events_.Lookup(key);
    session_.Delete(key);
  }
  return ReplyTo(status);
}

Reply CommandExecutor::Commit(Verb verb, std::uint64_t compare_cas, store::WriteHandle& handle) {
  store::WriteOptions options;
  options.mode = ModeOf(verb);
  options.compare_cas = compare_cas;
  const StoreStatus status = Store(verb, handle, options).status;
  counters_.Add(Counter::kCmdSet);
  if (verb == Verb::kCas) CountCas(status);
  return ReplyTo(status);
}

store::WriteResult CommandExecutor::Store(Verb verb, store::WriteHandle& handle,
                                          const store::WriteOptions& options) {
  if (!events_.watches_keys()) return session_.Commit(handle, options);
  const EventLog::PendingStore pending = events_.BeforeStore(verb, handle);
  const store::WriteResult result = session_.Commit(handle, options);
  events_.AfterStore(pending, result.status);
  return result;
}

Reply CommandExecutor::Abandon(store::WriteHandle& handle) {
  handle = store::WriteHandle();
  counters_.Add(Counter::kCmdSet);
  return Reply::kBadDataChunk;
}

std::int64_t CommandExecutor::Absolute(std::int64_t exptime) noexcept {
  if (exptime == 0) return store::kNeverExpires;
  return AbsoluteExptime(exptime, Now());
}

std::int64_t CommandExecutor::Now() noexcept {
  if (now_seconds_ == 0) now_seconds_ = clock_.WallSeconds();
  return now_seconds_;
}

Reply CommandExecutor::Delete(const Request& request) {
  admin_.prefixes().CountDelete(request.key);
  const store::Key key = session_.MakeKey(request.key);
  const store::Glimpse before = events_.Lookup(key);
  const bool found = session_.Delete(key) == StoreStatus::kOk;
  if (found) events_.Deleted(key, "delete", before);
  counters_.Add(found ? Counter::kDeleteHits : Counter::kDeleteMisses);
  return found ? Reply::kDeleted : Reply::kNotFound;
}

Reply CommandExecutor::Touch(const Request& request) {
  const store::Key key = session_.MakeKey(request.key);
  events_.Lookup(key);
  const StoreStatus status = session_.Touch(key, Absolute(request.exptime));
  const bool found = status == StoreStatus::kOk;
  counters_.Add(Counter::kCmdTouch);
  counters_.Add(found ? Counter::kTouchHits : Counter::kTouchMisses);
  return found ? Reply::kTouched : Reply::kNotFound;
}

void CommandExecutor::Arithmetic(const Request& request, OutputBuffer& output) {
  const bool increment = request.verb == Verb::kIncr;
  store::ArithmeticOptions options;
  options.increment = increment;
  options.delta = request.number;
  const store::Key key = session_.MakeKey(request.key);
  events_.Lookup(key);
  const store::ArithmeticResult result = session_.Arithmetic(key, options);
  if (result.status == StoreStatus::kOk) {
    counters_.Add(increment ? Counter::kIncrHits : Counter::kDecrHits);
    if (!request.noreply) protocol::AppendNumberLine(result.value, output);
    return;
  }
  if (result.status == StoreStatus::kNotFound) {
    counters_.Add(increment ? Counter::kIncrMisses : Counter::kDecrMisses);
  }
  Answer(ReplyTo(result.status), request.noreply, counters_, output);
}

Reply CommandExecutor::ReplyTo(StoreStatus status) noexcept {
  CountRefusal(status);
  return ReplyFor(status);
}

void CommandExecutor::CountRefusal(StoreStatus status) noexcept {
  if (status == StoreStatus::kTooLarge) counters_.Add(Counter::kStoreTooLarge);
  if (status == StoreStatus::kOutOfMemory) counters_.Add(Counter::kStoreNoMemory);
}

void CommandExecutor::CountCas(StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kStored:
      counters_.Add(Counter::kCasHits);
      break;
    case StoreStatus::kExists:
      counters_.Add(Counter::kCasBadval);
      break;
    case StoreStatus::kNotFound:
      counters_.Add(Counter::kCasMisses);
      break;
    default:
      break;
  }
}

}  // namespace podcache::command
