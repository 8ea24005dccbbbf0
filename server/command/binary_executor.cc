#include "server/command/binary_executor.h"

#include "common/base/version.h"
#include "server/protocol/stat_form.h"

namespace podcache::command {

using metrics::Counter;
using protocol::BinaryHead;
using protocol::BinaryRequest;
using protocol::BinaryStatus;
using protocol::BinaryVerb;
using store::StoreStatus;

namespace {

// What the text protocol calls it. A CAS id in the header says more than set, add or replace.
protocol::Verb TextVerb(BinaryVerb verb, std::uint64_t compare_cas) noexcept {
  switch (verb) {
    case BinaryVerb::kAppend:
      return protocol::Verb::kAppend;
    case BinaryVerb::kPrepend:
      return protocol::Verb::kPrepend;
    default:
      break;
  }
  if (compare_cas != 0) return protocol::Verb::kCas;
  switch (verb) {
    case BinaryVerb::kAdd:
      return protocol::Verb::kAdd;
    case BinaryVerb::kReplace:
      return protocol::Verb::kReplace;
    default:
      return protocol::Verb::kSet;
  }
}

BinaryStatus StatusFor(BinaryVerb verb, StoreStatus status) noexcept {
  switch (status) {
    case StoreStatus::kOk:
    case StoreStatus::kStored:
      return BinaryStatus::kOk;
    case StoreStatus::kNotStored:
      return verb == BinaryVerb::kAdd       ? BinaryStatus::kExists
             : verb == BinaryVerb::kReplace ? BinaryStatus::kNotFound
                                            : BinaryStatus::kNotStored;
    case StoreStatus::kExists:
      return BinaryStatus::kExists;
    case StoreStatus::kNotFound:
      return BinaryStatus::kNotFound;
    case StoreStatus::kTooLarge:
      return BinaryStatus::kTooLarge;
    case StoreStatus::kOutOfMemory:
      return BinaryStatus::kOutOfMemory;
    case StoreStatus::kNotNumeric:
      return BinaryStatus::kNotNumeric;
  }
  return BinaryStatus::kUnknownCommand;
}

}  // namespace

store::ReadOptions BinaryExecutor::ReadOptionsFor(const BinaryRequest& request) noexcept {
  store::ReadOptions options;
  options.want_cas = true;
  options.set_exptime = request.head.verb == BinaryVerb::kGetAndTouch;
  if (options.set_exptime) options.exptime = common_.Absolute(request.exptime);
  return options;
}

std::unique_ptr<LongReply> BinaryExecutor::Execute(const BinaryRequest& request,
                                                   OutputBuffer& output) {
  switch (request.head.verb) {
    case BinaryVerb::kTouch:
      Touch(request, output);
      break;
    case BinaryVerb::kDelete:
      Delete(request, output);
      break;
    case BinaryVerb::kIncrement:
    case BinaryVerb::kDecrement:
      Arithmetic(request, output);
      break;
    case BinaryVerb::kFlush:
      Flush(request, output);
      break;
    case BinaryVerb::kStat:
      return admin_.stats().Execute(request.key, protocol::StatForm(request.head), counters_,
                                    output);
    case BinaryVerb::kVersion:
      protocol::AppendBinaryVersion(request.head, ProtocolVersion(), output);
      break;
    default:
      protocol::AppendBinaryOk(request.head, 0, output);
      break;
  }
  return nullptr;
}

bool BinaryExecutor::Prepare(const BinaryRequest& request, store::WriteHandle& handle,
                             OutputBuffer& output) {
  const store::Key key = session_.MakeKey(request.key);
  admin_.prefixes().CountSet(request.key);
  const StoreStatus status = session_.Prepare(key, request.value_bytes, request.client_flags,
                                              common_.Absolute(request.exptime), handle);
  if (handle.valid()) return true;
  events_.Stored(request.key, TextVerb(request.head.verb, request.compare_cas), status,
                 common_.Absolute(request.exptime), request.value_bytes);
  // A reader must not get the value that this one was meant to replace.
  if (request.head.verb == BinaryVerb::kSet) {
    events_.Lookup(key);
    session_.Delete(key);
  }
  Reply(request.head, status, 0, output);
  return false;
}

void BinaryExecutor::Commit(const BinaryHead& head, std::uint64_t compare_cas,
                            store::WriteHandle& handle, OutputBuffer& output) {
  // As in memcached: without CAS ids writes compare nothing.
  if (!session_.has_cas()) compare_cas = 0;
  const protocol::Verb verb = TextVerb(head.verb, compare_cas);
  store::WriteOptions options;
  options.mode = ModeOf(verb);
  options.compare_cas = compare_cas;
  options.want_cas = !head.quiet;
  const store::WriteResult result = common_.Store(verb, handle, options);
  counters_.Add(Counter::kCmdSet);
  if (options.mode == store::WriteMode::kCas) common_.CountCas(result.status);
  Reply(head, result.status, result.cas, output);
}

void BinaryExecutor::Refuse(const BinaryHead& head, BinaryStatus status, OutputBuffer& output) {
  if (protocol::IsError(status)) counters_.Add(Counter::kBinaryErrors);
  protocol::AppendBinaryError(head, status, output);
}

void BinaryExecutor::Touch(const BinaryRequest& request, OutputBuffer& output) {
  store::ItemMeta meta;
  const store::Key key = session_.MakeKey(request.key);
  events_.Lookup(key);
  const StoreStatus status = session_.Touch(key, common_.Absolute(request.exptime), &meta);
  const bool found = status == StoreStatus::kOk;
  counters_.Add(Counter::kCmdTouch);
  counters_.Add(found ? Counter::kTouchHits : Counter::kTouchMisses);
  if (!found) return protocol::AppendBinaryMiss(request.head, request.key, output);
  char* const start = output.Reserve(protocol::kMaxBinaryItemHeadBytes);
  const char* const end = protocol::WriteBinaryItemHead(start, request.head, request.key,
                                                        meta.client_flags, 0, meta.cas);
  output.Commit(static_cast<std::size_t>(end - start));
}

void BinaryExecutor::Delete(const BinaryRequest& request, OutputBuffer& output) {
  const store::Key key = session_.MakeKey(request.key);
  admin_.prefixes().CountDelete(request.key);
  const store::Glimpse before = events_.Lookup(key);
  const StoreStatus status = session_.Delete(key, request.compare_cas);
  if (status == StoreStatus::kOk) {
    events_.Deleted(key, "delete", before);
    counters_.Add(Counter::kDeleteHits);
  }
  if (status == StoreStatus::kNotFound) counters_.Add(Counter::kDeleteMisses);
  Reply(request.head, status, 0, output);
}

void BinaryExecutor::Arithmetic(const BinaryRequest& request, OutputBuffer& output) {
  const bool increment = request.head.verb == BinaryVerb::kIncrement;
  store::ArithmeticOptions options;
  options.increment = increment;
  options.delta = request.delta;
  options.compare_cas = request.compare_cas;
  options.want_cas = !request.head.quiet;
  options.create = request.exptime != protocol::kDoNotCreate;
  options.initial = request.initial;
  if (options.create) options.exptime = common_.Absolute(request.exptime);
  const store::Key key = session_.MakeKey(request.key);
  events_.Lookup(key);
  const store::ArithmeticResult result = session_.Arithmetic(key, options);
  if (result.status == StoreStatus::kNotFound) {
    counters_.Add(increment ? Counter::kIncrMisses : Counter::kDecrMisses);
  }
  if (result.status != StoreStatus::kOk) return Reply(request.head, result.status, 0, output);
  // A number that was created counts neither way, as in memcached.
  if (!result.created) {
    counters_.Add(increment ? Counter::kIncrHits : Counter::kDecrHits);
  } else {
    events_.Stored(request.key, protocol::Verb::kAdd, StoreStatus::kStored, options.exptime,
                   protocol::NumberText(result.value).text().size());
  }
  if (!request.head.quiet)
    protocol::AppendBinaryNumber(request.head, result.value, result.cas, output);
}

void BinaryExecutor::Flush(const BinaryRequest& request, OutputBuffer& output) {
  counters_.Add(Counter::kCmdFlush);
  if (!admin_.Flush(request.exptime))
    return Refuse(request.head, BinaryStatus::kAuthFailure, output);
  if (!request.head.quiet) protocol::AppendBinaryOk(request.head, 0, output);
}

void BinaryExecutor::Reply(const BinaryHead& head, StoreStatus status, std::uint64_t cas,
                           OutputBuffer& output) {
  common_.CountRefusal(status);
  const BinaryStatus answer = StatusFor(head.verb, status);
  if (answer != BinaryStatus::kOk) return Refuse(head, answer, output);
  if (!head.quiet) protocol::AppendBinaryOk(head, cas, output);
}

}  // namespace podcache::command
