#include "server/binary_session.h"

#include "common/base/check.h"
#include "server/reply_session.h"
#include "server/session_turn.h"
#include "server/worker_session.h"

namespace podcache {

using metrics::CommandClass;
using metrics::Counter;
using net::HandlerResult;
using net::NextStep;
using protocol::BinaryParseStatus;
using protocol::BinaryRequest;
using protocol::BinaryVerb;

namespace {

CommandClass ClassOf(BinaryVerb verb) noexcept {
  if (protocol::IsRetrieval(verb)) return CommandClass::kGet;
  if (protocol::IsStorage(verb)) return CommandClass::kStore;
  switch (verb) {
    case BinaryVerb::kTouch:
      return CommandClass::kTouch;
    case BinaryVerb::kDelete:
      return CommandClass::kDelete;
    case BinaryVerb::kIncrement:
    case BinaryVerb::kDecrement:
      return CommandClass::kArithmetic;
    default:
      return CommandClass::kAdmin;
  }
}

}  // namespace

HandlerResult BinarySession::OnInput(net::WorkerHandler& worker, std::span<const char> input,
                                     OutputBuffer& output) {
  Turn turn{static_cast<WorkerSession&>(worker), {input.data(), input.size()}, output};
  turn.worker.StartBatch();
  const HandlerResult result = Run(turn);
  // The keys gathered so far are views into the input.
  turn.worker.binary_gets().Flush(output);
  turn.worker.EndBatch(Counter::kBinaryCommands);
  return result;
}

HandlerResult BinarySession::OnDirect(net::WorkerHandler& worker, std::size_t n,
                                      OutputBuffer& output) {
  PODCACHE_CHECK(state_ == State::kValue);
  handle_.Advance(n);
  // A value has nothing behind it to wait for.
  if (handle_.Writable().empty()) return OnInput(worker, {}, output);
  return WantValue(handle_, 0);
}

HandlerResult BinarySession::Run(Turn& turn) {
  while (state_ < State::kClosed) {
    // A value may be complete without more input.
    if ((turn.exhausted() && state_ != State::kValue) || Advance(turn) == Step::kNeedInput)
      return WantMore(turn);
    if (turn.over_budget() && !turn.exhausted()) return {turn.at, NextStep::kYield, {}};
  }
  if (state_ == State::kReplaced) return {turn.at, NextStep::kReplace, {}};
  const NextStep end = state_ == State::kClosed ? NextStep::kClose : NextStep::kAbort;
  return {turn.input.size(), end, {}};
}

net::Activity BinarySession::activity() const noexcept {
  switch (state_) {
    case State::kValue:
      return net::Activity::kValue;
    case State::kSkip:
      return net::Activity::kSkipping;
    default:
      return net::Activity::kWaiting;
  }
}

HandlerResult BinarySession::WantMore(const Turn& turn) noexcept {
  if (state_ == State::kValue) return WantValue(handle_, turn.at);
  return {turn.at, NextStep::kNeedInput, {}};
}

BinarySession::Step BinarySession::Advance(Turn& turn) {
  switch (state_) {
    case State::kRequest:
      return OnRequest(turn);
    case State::kValue:
      return OnValue(turn);
    case State::kSkip:
      return OnSkip(turn);
    case State::kClosed:
    case State::kReplaced:
    case State::kAborted:
      break;
  }
  return Step::kGoOn;
}

BinarySession::Step BinarySession::OnRequest(Turn& turn) {
  BinaryRequest request;
  const protocol::BinaryParseResult parsed = protocol::BinaryParser::Parse(turn.rest(), request);
  if (parsed.status == BinaryParseStatus::kNeedMore) return Step::kNeedInput;
  turn.at += parsed.consumed;
  ++turn.used;
  if (parsed.status == BinaryParseStatus::kRequest) return RunRequest(turn, request);
  turn.worker.binary_gets().Flush(turn.output);
  if (parsed.status == BinaryParseStatus::kClose) {
    turn.worker.counters().Add(Counter::kBinaryErrors);
    state_ = State::kAborted;
    return Step::kGoOn;
  }
  turn.worker.CountRequest(CommandClass::kAdmin);
  turn.worker.binary_executor().Refuse(request.head, parsed.error, turn.output);
  if (parsed.status == BinaryParseStatus::kError) return Skip(parsed.skip_bytes);
  state_ = State::kAborted;
  return Step::kGoOn;
}

BinarySession::Step BinarySession::RunRequest(Turn& turn, const BinaryRequest& request) {
  turn.worker.CountRequest(ClassOf(request.head.verb));
  if (protocol::IsRetrieval(request.head.verb)) return AddGet(turn, request);
  turn.worker.binary_gets().Flush(turn.output);
  if (protocol::IsStorage(request.head.verb)) return StartValue(turn, request);
  if (request.head.verb == BinaryVerb::kQuit) {
    Quit(turn, request);
  } else if (auto reply = turn.worker.binary_executor().Execute(request, turn.output)) {
    successor_ = std::make_unique<ReplySession>(std::move(reply), WireProtocol::kBinary);
    state_ = State::kReplaced;
  }
  return Step::kGoOn;
}

BinarySession::Step BinarySession::AddGet(Turn& turn, const BinaryRequest& request) {
  command::BinaryGetBatch& gets = turn.worker.binary_gets();
  const store::ReadOptions options = turn.worker.binary_executor().ReadOptionsFor(request);
  if (!gets.Accepts(options)) gets.Flush(turn.output);
  gets.Add(request, options);
  if (gets.full()) gets.Flush(turn.output);
  return Step::kGoOn;
}

BinarySession::Step BinarySession::StartValue(Turn& turn, const BinaryRequest& request) {
  if (!turn.worker.binary_executor().Prepare(request, handle_, turn.output))
    return Skip(request.value_bytes);
  head_ = request.head;
  compare_cas_ = request.compare_cas;
  state_ = State::kValue;
  return Step::kGoOn;
}

BinarySession::Step BinarySession::OnValue(Turn& turn) {
  if (!turn.Fill(handle_)) return Step::kNeedInput;
  turn.worker.binary_executor().Commit(head_, compare_cas_, handle_, turn.output);
  state_ = State::kRequest;
  return Step::kGoOn;
}

BinarySession::Step BinarySession::OnSkip(Turn& turn) {
  turn.Skip(left_bytes_);
  if (left_bytes_ == 0) state_ = State::kRequest;
  return Step::kGoOn;
}

BinarySession::Step BinarySession::Skip(std::uint64_t bytes) noexcept {
  left_bytes_ = bytes;
  state_ = bytes > 0 ? State::kSkip : State::kRequest;
  return Step::kGoOn;
}

void BinarySession::Quit(Turn& turn, const BinaryRequest& request) {
  if (!request.head.quiet) protocol::AppendBinaryOk(request.head, 0, turn.output);
  state_ = State::kClosed;
}

}  // namespace podcache
