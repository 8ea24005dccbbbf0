// One connection speaking the text protocol: bytes in, requests executed, replies out.
//
// Retrieval requests are gathered in the worker's batch; anything else first flushes it, so replies
// keep the order of the requests. Between calls nothing refers to the input.
//
// Threads: the worker that owns the connection. Invariant: the replies do not depend on how the
// input is cut. Source: protocol.md 1, style.md 4.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>

#include "common/base/output_buffer.h"
#include "server/net/request_handler.h"
#include "server/pending_meta_set.h"
#include "server/protocol/text_parser.h"
#include "server/store/store.h"

namespace podcache {

struct SessionTurn;

class TextSession final : public net::ConnectionHandler {
 public:
  net::HandlerResult OnInput(net::WorkerHandler& worker, std::span<const char> input,
                             OutputBuffer& output) override;
  net::HandlerResult OnDirect(net::WorkerHandler& worker, std::size_t n,
                              OutputBuffer& output) override;
  bool AtRequestBoundary() const noexcept override { return state_ == State::kRequest; }
  net::Activity activity() const noexcept override;
  std::unique_ptr<net::ConnectionHandler> TakeSuccessor() override { return std::move(successor_); }

 private:
  enum class State : std::uint8_t {
    kRequest,   // At the start of a line.
    kKeys,      // Inside a retrieval line.
    kValue,     // Inside a data block.
    kValueEnd,  // At its line end, or in the middle of that.
    kSkip,      // Swallowing the rest of a refused request.
    kSkipLine,  // Swallowing up to a newline, then answering.
    kClosed,
    kBroken,    // Closed, because the input made no sense.
    kReplaced,  // By the successor.
  };
  enum class Step : std::uint8_t { kGoOn, kNeedInput };
  using Turn = SessionTurn;

  net::HandlerResult Run(Turn& turn);
  net::HandlerResult WantMore(const Turn& turn) noexcept;

  Step Advance(Turn& turn);
  Step OnRequest(Turn& turn);
  Step OnKeys(Turn& turn);
  Step OnValue(Turn& turn);
  Step OnValueEnd(Turn& turn);
  Step OnSkip(Turn& turn);
  Step OnSkipLine(Turn& turn);

  // Lines with one key each, as many as there are in a row.
  bool TakeUsualGets(Turn& turn);
  // The same for sets whose values are in the input as a whole. Behind them may stand the line of a
  // set that has to be run by itself: its bytes, and the request; otherwise 0.
  std::size_t TakeUsualSets(Turn& turn, protocol::Request& request);
  Step StartKeys(Turn& turn, const protocol::Request& request);
  Step StartValue(Turn& turn, const protocol::Request& request);
  Step RunRequest(Turn& turn, const protocol::Request& request);
  Step StartWatch(Turn& turn, const protocol::Request& request);
  void Answer(Turn& turn, protocol::Reply reply, bool noreply);
  void EndKeys(Turn& turn);
  // The next bytes, whatever they are, belong to a refused request.
  void SkipBytes(std::uint64_t n) noexcept;

  // text_session_meta.cc
  Step RunMeta(Turn& turn, std::string_view line);
  void AddMetaGet(Turn& turn, const protocol::MetaRequest& request);
  Step StartMetaSet(Turn& turn, const protocol::MetaRequest& request);
  void EndMetaSet(Turn& turn);

  std::unique_ptr<net::ConnectionHandler> successor_;
  store::WriteHandle handle_;
  std::unique_ptr<PendingMetaSet>
      meta_set_;  // Whose value is arriving, if it is not a classic one.
  store::ReadOptions read_options_;
  std::uint64_t compare_cas_ = 0;
  std::uint64_t left_bytes_ = 0;  // Of what is skipped, or of a line end.
  std::uint32_t line_keys_ = 0;
  State state_ = State::kRequest;
  protocol::Verb verb_ = protocol::Verb::kGet;
  protocol::Reply pending_reply_ = protocol::Reply::kError;  // Of kSkipLine.
  bool noreply_ = false;
  bool value_end_ok_ = true;
};
static_assert(sizeof(TextSession) <= 96, "idle connections are counted by the hundred thousand");

}  // namespace podcache
