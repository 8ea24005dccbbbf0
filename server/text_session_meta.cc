// The meta commands, of TextSession.
#include <utility>

#include "server/pending_meta_set.h"
#include "server/protocol/meta_parser.h"
#include "server/session_turn.h"
#include "server/text_session.h"
#include "server/worker_session.h"
namespace podcache {

using metrics::CommandClass;
using protocol::MetaRequest;
using protocol::MetaVerb;

namespace {

CommandClass ClassOf(MetaVerb verb) noexcept {
  switch (verb) {
    case MetaVerb::kGet:
      return CommandClass::kGet;
    case MetaVerb::kSet:
      return CommandClass::kStore;
    case MetaVerb::kDelete:
      return CommandClass::kDelete;
    case MetaVerb::kArithmetic:
      return CommandClass::kArithmetic;
    default:
      return CommandClass::kAdmin;
  }
}

}  // namespace

TextSession::Step TextSession::RunMeta(Turn& turn, std::string_view line) {
  MetaRequest request;
  protocol::KeyBuffer key_buffer;
  const protocol::ParseResult parsed = protocol::MetaParser::Parse(line, request, key_buffer);
  if (parsed.status == protocol::ParseStatus::kError) {
    turn.worker.FlushGathered(turn.output);
    turn.worker.meta().Answer(parsed.error, turn.output);
    SkipBytes(parsed.skip_bytes);
    ++turn.used;
    return Step::kGoOn;
  }
  turn.worker.CountMetaRequest(ClassOf(request.verb));
  if (request.verb == MetaVerb::kGet) {
    ++turn.used;
    AddMetaGet(turn, request);
    return Step::kGoOn;
  }
  turn.worker.FlushGathered(turn.output);
  if (request.verb == MetaVerb::kSet) return StartMetaSet(turn, request);
  ++turn.used;
  turn.worker.meta().Execute(request, turn.output);
  return Step::kGoOn;
}

void TextSession::AddMetaGet(Turn& turn, const MetaRequest& request) {
  turn.worker.MakeWayForMetaGets(turn.output);
  command::MetaGetBatch& gets = turn.worker.meta_gets();
  gets.Add(request);
  if (gets.full()) gets.Flush(turn.output);
}

TextSession::Step TextSession::StartMetaSet(Turn& turn, const MetaRequest& request) {
  if (!turn.worker.meta().Prepare(request, handle_, turn.output)) {
    SkipBytes(request.value_bytes + protocol::kLineEnd.size());
    ++turn.used;
    return Step::kGoOn;
  }
  meta_set_ = turn.worker.TakePendingSet();
  meta_set_->Keep(request);
  state_ = State::kValue;
  return OnValue(turn);
}

void TextSession::EndMetaSet(Turn& turn) {
  std::unique_ptr<PendingMetaSet> set = std::move(meta_set_);
  if (value_end_ok_) {
    turn.worker.meta().Commit(set->request(), handle_, turn.output);
  } else {
    turn.worker.meta().Abandon(handle_, turn.output);
  }
  turn.worker.GivePendingSet(std::move(set));
}

}  // namespace podcache
