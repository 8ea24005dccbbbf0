#include "server/text_session.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "common/base/check.h"
#include "server/command/answer.h"
#include "server/protocol/scan.h"
#include "server/protocol/usual_lines.h"
#include "server/reply_session.h"
#include "server/session_turn.h"
#include "server/watch_session.h"
#include "server/worker_session.h"

namespace podcache {

using metrics::CommandClass;
using metrics::Counter;
using net::HandlerResult;
using net::NextStep;
using protocol::KeyStatus;
using protocol::kLineEnd;
using protocol::ParseStatus;
using protocol::Reply;
using protocol::Verb;

namespace {

CommandClass ClassOf(Verb verb) noexcept {
  if (protocol::IsStorage(verb)) return CommandClass::kStore;
  switch (verb) {
    case Verb::kDelete:
      return CommandClass::kDelete;
    case Verb::kIncr:
    case Verb::kDecr:
      return CommandClass::kArithmetic;
    case Verb::kTouch:
      return CommandClass::kTouch;
    default:
      return CommandClass::kAdmin;
  }
}

}  // namespace

HandlerResult TextSession::OnInput(net::WorkerHandler& worker, std::span<const char> input,
                                   OutputBuffer& output) {
  Turn turn{static_cast<WorkerSession&>(worker), {input.data(), input.size()}, output};
  turn.worker.StartBatch();
  const HandlerResult result = Run(turn);
  // What has been gathered so far are views into the input.
  turn.worker.FlushGathered(output);
  turn.worker.EndBatch(Counter::kTextCommands);
  return result;
}

HandlerResult TextSession::OnDirect(net::WorkerHandler&, std::size_t n, OutputBuffer&) {
  PODCACHE_CHECK(state_ == State::kValue);
  handle_.Advance(n);
  return WantValue(handle_, 0);
}

HandlerResult TextSession::Run(Turn& turn) {
  while (state_ < State::kClosed) {
    if (turn.exhausted() || Advance(turn) == Step::kNeedInput) return WantMore(turn);
    if (turn.over_budget() && !turn.exhausted()) return {turn.at, NextStep::kYield, {}};
  }
  if (state_ == State::kReplaced) return {turn.at, NextStep::kReplace, {}};
  return {turn.input.size(), state_ == State::kClosed ? NextStep::kClose : NextStep::kAbort, {}};
}

net::Activity TextSession::activity() const noexcept {
  switch (state_) {
    case State::kValue:
    case State::kValueEnd:
      return net::Activity::kValue;
    case State::kSkip:
    case State::kSkipLine:
      return net::Activity::kSkipping;
    default:
      return net::Activity::kWaiting;
  }
}

HandlerResult TextSession::WantMore(const Turn& turn) noexcept {
  if (state_ == State::kValue) return WantValue(handle_, turn.at);
  return {turn.at, NextStep::kNeedInput, {}};
}

TextSession::Step TextSession::Advance(Turn& turn) {
  switch (state_) {
    case State::kRequest:
      return OnRequest(turn);
    case State::kKeys:
      return OnKeys(turn);
    case State::kValue:
      return OnValue(turn);
    case State::kValueEnd:
      return OnValueEnd(turn);
    case State::kSkip:
      return OnSkip(turn);
    case State::kSkipLine:
      return OnSkipLine(turn);
    case State::kClosed:
    case State::kBroken:
    case State::kReplaced:
      break;
  }
  return Step::kGoOn;
}

TextSession::Step TextSession::OnRequest(Turn& turn) {
  if (TakeUsualGets(turn)) return Step::kGoOn;
  const std::uint32_t before = turn.used;
  protocol::Request request;
  if (const std::size_t taken = TakeUsualSets(turn, request)) {
    turn.at += taken;
    return RunRequest(turn, request);
  }
  if (turn.used != before) return Step::kGoOn;
  const protocol::ParseResult parsed = protocol::TextParser::Parse(turn.rest(), request);
  turn.at += parsed.consumed;
  switch (parsed.status) {
    case ParseStatus::kNeedMore:
      return Step::kNeedInput;
    case ParseStatus::kKeys:
      return StartKeys(turn, request);
    case ParseStatus::kRequest:
      return RunRequest(turn, request);
    case ParseStatus::kMeta:
      return RunMeta(turn, turn.input.substr(turn.at - parsed.consumed, parsed.consumed));
    case ParseStatus::kError:
      Answer(turn, parsed.error, parsed.noreply);
      SkipBytes(parsed.skip_bytes);
      ++turn.used;
      return Step::kGoOn;
    case ParseStatus::kSkipLine:
      pending_reply_ = parsed.error;
      state_ = State::kSkipLine;
      return Step::kGoOn;
    case ParseStatus::kClose:
      turn.worker.counters().Add(Counter::kProtocolErrors);
      state_ = State::kBroken;
      return Step::kGoOn;
  }
  return Step::kGoOn;
}

bool TextSession::TakeUsualGets(Turn& turn) {
  const std::uint32_t before = turn.used;
  command::GetBatch& gets = turn.worker.gets();
  std::string_view key;
  while (const std::size_t taken = protocol::TakeUsualGet(turn.rest(), key)) {
    if (turn.used == before) turn.worker.MakeWayForGets({}, turn.output);
    turn.at += taken;
    ++turn.used;
    gets.Add(key, {});
    gets.EndLine(turn.output);
    turn.worker.CountRequest(CommandClass::kGet);
    if (gets.full()) {
      gets.Flush(turn.output);
      break;
    }
    if (turn.used >= turn.worker.requests_per_turn()) break;
  }
  return turn.used != before;
}

std::size_t TextSession::TakeUsualSets(Turn& turn, protocol::Request& request) {
  const std::uint32_t before = turn.used;
  command::SetBatch& sets = turn.worker.sets();
  while (const std::size_t taken = protocol::TakeUsualSet(turn.rest(), request)) {
    const std::string_view block = turn.rest().substr(taken);
    const auto value_bytes = static_cast<std::size_t>(request.value_bytes);
    if (!sets.open() || !block.substr(std::min(value_bytes, block.size())).starts_with(kLineEnd))
      return taken;
    if (turn.used == before) turn.worker.MakeWayForSets(turn.output);
    turn.at += taken + value_bytes + kLineEnd.size();
    ++turn.used;
    sets.Add(request, block.substr(0, value_bytes));
    turn.worker.CountRequest(CommandClass::kStore);
    if (sets.full()) {
      sets.Flush(turn.output);
      return 0;
    }
    if (turn.used >= turn.worker.requests_per_turn()) return 0;
  }
  return 0;
}

TextSession::Step TextSession::StartKeys(Turn& turn, const protocol::Request& request) {
  verb_ = request.verb;
  read_options_ = turn.worker.executor().ReadOptionsFor(request);
  line_keys_ = 0;
  state_ = State::kKeys;
  turn.worker.MakeWayForGets(read_options_, turn.output);
  return OnKeys(turn);
}

TextSession::Step TextSession::OnKeys(Turn& turn) {
  command::GetBatch& gets = turn.worker.gets();
  std::string_view key;
  while (true) {
    while (!gets.full()) {
      const std::size_t taken = protocol::TakeUsualKey(turn.rest(), key);
      if (taken == 0) break;
      turn.at += taken;
      ++line_keys_;
      gets.Add(key, read_options_);
    }
    if (gets.full()) {
      gets.Flush(turn.output);
      ++turn.used;
      return Step::kGoOn;
    }
    const protocol::KeyResult next = protocol::TextParser::NextKey(turn.rest());
    turn.at += next.consumed;
    switch (next.status) {
      case KeyStatus::kNeedMore:
        return Step::kNeedInput;
      case KeyStatus::kKey:
        gets.Add(next.key, read_options_);
        ++line_keys_;
        break;
      case KeyStatus::kLastKey:
        gets.Add(next.key, read_options_);
        ++line_keys_;
        EndKeys(turn);
        if (gets.full()) gets.Flush(turn.output);
        return Step::kGoOn;
      case KeyStatus::kEndOfLine:
        EndKeys(turn);
        return Step::kGoOn;
      case KeyStatus::kTooLong:
        pending_reply_ = Reply::kBadFormat;
        state_ = State::kSkipLine;
        return Step::kGoOn;
    }
  }
}

void TextSession::EndKeys(Turn& turn) {
  state_ = State::kRequest;
  ++turn.used;
  // A line of more than two thousand spaces.
  if (line_keys_ == 0) return Answer(turn, Reply::kBadFormat, false);
  turn.worker.gets().EndLine(turn.output);
  turn.worker.CountRequest(line_keys_ > 1 ? CommandClass::kMultiget : CommandClass::kGet);
}

TextSession::Step TextSession::RunRequest(Turn& turn, const protocol::Request& request) {
  turn.worker.FlushGathered(turn.output);
  if (protocol::IsStorage(request.verb)) return StartValue(turn, request);
  ++turn.used;
  turn.worker.CountRequest(ClassOf(request.verb));
  if (request.verb == Verb::kQuit) {
    state_ = State::kClosed;
  } else if (request.verb == Verb::kWatch) {
    return StartWatch(turn, request);
  } else if (auto reply = turn.worker.executor().Execute(request, turn.output)) {
    successor_ = std::make_unique<ReplySession>(std::move(reply), WireProtocol::kText);
    state_ = State::kReplaced;
  }
  return Step::kGoOn;
}

TextSession::Step TextSession::StartWatch(Turn& turn, const protocol::Request& request) {
  const auto refuse = [&](Reply reply) {
    Answer(turn, reply, false);
    return Step::kGoOn;
  };
  watch::WatchHub* const hub = turn.worker.watch();
  if (hub == nullptr) return refuse(Reply::kWatchNotAllowed);
  if (!turn.output.empty()) return refuse(Reply::kWatchPipelined);
  const std::optional<protocol::Streams> streams = protocol::ParseStreams(request.arguments);
  if (!streams) return refuse(Reply::kError);
  std::unique_ptr<watch::Watcher> watcher = hub->Watch(*streams);
  if (watcher == nullptr) return refuse(Reply::kTooManyWatchers);
  successor_ = std::make_unique<WatchSession>(std::move(watcher));
  state_ = State::kReplaced;
  return Step::kGoOn;
}

TextSession::Step TextSession::StartValue(Turn& turn, const protocol::Request& request) {
  verb_ = request.verb;
  noreply_ = request.noreply;
  compare_cas_ = request.number;
  const std::optional<Reply> refusal = turn.worker.executor().Prepare(request, handle_);
  if (refusal) {
    Answer(turn, *refusal, noreply_);
    SkipBytes(request.value_bytes + kLineEnd.size());
    turn.worker.CountRequest(CommandClass::kStore);
    ++turn.used;
    return Step::kGoOn;
  }
  state_ = State::kValue;
  return OnValue(turn);
}

TextSession::Step TextSession::OnValue(Turn& turn) {
  if (!turn.Fill(handle_)) return Step::kNeedInput;
  left_bytes_ = kLineEnd.size();
  value_end_ok_ = true;
  state_ = State::kValueEnd;
  return OnValueEnd(turn);
}

TextSession::Step TextSession::OnValueEnd(Turn& turn) {
  // Exactly two bytes belong to the request, whatever they are.
  for (; left_bytes_ > 0; --left_bytes_) {
    if (turn.exhausted()) return Step::kNeedInput;
    const char expected = kLineEnd[kLineEnd.size() - left_bytes_];
    if (turn.input[turn.at++] != expected) value_end_ok_ = false;
  }
  state_ = State::kRequest;
  ++turn.used;
  if (meta_set_ != nullptr) {
    EndMetaSet(turn);
    return Step::kGoOn;
  }
  command::CommandExecutor& executor = turn.worker.executor();
  const Reply reply =
      value_end_ok_ ? executor.Commit(verb_, compare_cas_, handle_) : executor.Abandon(handle_);
  Answer(turn, reply, noreply_);
  turn.worker.CountRequest(CommandClass::kStore);
  return Step::kGoOn;
}

void TextSession::SkipBytes(std::uint64_t n) noexcept {
  left_bytes_ = n;
  state_ = n > 0 ? State::kSkip : State::kRequest;
}

TextSession::Step TextSession::OnSkip(Turn& turn) {
  turn.Skip(left_bytes_);
  if (left_bytes_ == 0) state_ = State::kRequest;
  return Step::kGoOn;
}

TextSession::Step TextSession::OnSkipLine(Turn& turn) {
  const std::size_t newline = protocol::FindNewline(turn.rest());
  if (newline == std::string_view::npos) {
    turn.at = turn.input.size();
    return Step::kNeedInput;
  }
  turn.at += newline + 1;
  Answer(turn, pending_reply_, false);
  state_ = State::kRequest;
  ++turn.used;
  return Step::kGoOn;
}

void TextSession::Answer(Turn& turn, Reply reply, bool noreply) {
  turn.worker.FlushGathered(turn.output);
  command::Answer(reply, noreply, turn.worker.counters(), turn.output);
}

}  // namespace podcache
